#include "lib/fabric/causes.h"

#include <gmock/gmock.h>

#include "lib/fabric/testing/small_fleet.h"

namespace rail::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kNoon;
using testing::SmallFleet;

TEST(Causes, OfAnEmptyFleetAreNone) {
  const Fleet fleet;
  const Grid grid(fleet);
  Causes causes;
  EXPECT_FALSE(causes.Update(fleet, grid, kNoon));
  EXPECT_THAT(causes.list(), IsEmpty());
  EXPECT_EQ(causes.NextLookMs(), std::nullopt);
}

TEST(Causes, TheWorstIsFirstThenThatOfMostNodes) {
  SmallFleet small;
  small.Cut("n8", 3);
  for (const char* node : {"n1", "n2", "n3", "n4"}) small.Cut(node, 0);
  for (const std::string& node : small.Names()) {
    small.RailOf(node, 1).set_lossless_known(true);
  }
  small.RailOf("n6", 2).set_rates_known(true);
  small.Tell(kNoon);
  EXPECT_THAT(small.Told(), ElementsAre("leaf-down leaf0", "session-down n8/rail3", "lossless-differs rail1",
                                        "rates-refused n6/rail2"));
}

TEST(Causes, WhatMayPassByItselfIsToldOnceItHasStood) {
  SmallFleet small;
  small.RailOf("n1", 0).set_stripped(1);
  small.Tell(kNoon);
  Fleet& fleet = small.fleet();
  Causes causes;
  {
    const Grid grid(fleet);
    EXPECT_FALSE(causes.Update(fleet, grid, kNoon));
    EXPECT_EQ(causes.NextLookMs(), kNoon + 3'000);
  }
  small.RailOf("n1", 0).set_stripped(0);  // it has passed
  small.Tell(kNoon + 1'000);
  {
    const Grid grid(fleet);
    EXPECT_FALSE(causes.Update(fleet, grid, kNoon + 1'000));
    EXPECT_EQ(causes.NextLookMs(), std::nullopt);
  }
  small.RailOf("n1", 0).set_stripped(1);
  small.Tell(kNoon + 2'000);
  const Grid grid(fleet);
  EXPECT_FALSE(causes.Update(fleet, grid, kNoon + 2'000));
  EXPECT_FALSE(causes.Update(fleet, grid, kNoon + 4'000));  // since 2 s, not since 4
  EXPECT_TRUE(causes.Update(fleet, grid, kNoon + 5'000));
  ASSERT_EQ(causes.list().size(), 1U);
  EXPECT_EQ(causes.list().front().since_ms, kNoon + 2'000);
  EXPECT_FALSE(causes.Update(fleet, grid, kNoon + 6'000));  // it is as it was
}

TEST(Causes, ALinkIsToldAtOnce) {
  SmallFleet small;
  small.Cut("n1", 0);
  small.Tell(kNoon);
  const Grid grid(small.fleet());
  Causes causes;
  EXPECT_TRUE(causes.Update(small.fleet(), grid, kNoon));
  EXPECT_EQ(causes.list().size(), 1U);
}

TEST(Diagnose, SaysAllThatAPersonNeeds) {
  SmallFleet small;
  small.Tell(kNoon);
  for (const char* node : {"n1", "n2", "n3", "n4"}) small.Cut(node, 0);
  small.Tell(kNoon + 1'000);
  small.fleet().SetAway("n7", kNoon, "timed out");
  const Grid grid(small.fleet());
  Causes causes;
  causes.Update(small.fleet(), grid, kNoon + 60'000);
  const v1::DiagnoseFleetResponse all = Diagnose(causes, small.fleet(), grid, {});
  ASSERT_EQ(all.causes_size(), 2);
  const v1::FleetCause& leaf = all.causes(0);
  EXPECT_EQ(leaf.severity(), v1::Finding::CRITICAL);
  EXPECT_EQ(leaf.id(), "leaf-down");
  EXPECT_EQ(leaf.subject(), "leaf0");
  EXPECT_EQ(leaf.since().seconds(), kNoon / 1000 + 1);
  EXPECT_EQ(leaf.follows_in_short(), "4 attachments, 4 rails without a session");
  EXPECT_EQ(leaf.nodes_total(), 4U);
  EXPECT_EQ(leaf.fix(), KindOf("leaf-down").fix);
  EXPECT_EQ(all.checks(), Kinds().size());
  EXPECT_EQ(all.totals().nodes(), 8U);
  EXPECT_EQ(all.totals().nodes_away(), 1U);
  EXPECT_EQ(all.totals().rails(), 32U);
  EXPECT_EQ(all.totals().rails_red(), 4U);
  EXPECT_EQ(all.totals().attachments(), 32U);
}

TEST(Diagnose, OfOneNodeHasItsCausesAlone) {
  SmallFleet small;
  for (const char* node : {"n1", "n2", "n3", "n4"}) small.Cut(node, 0);
  small.Cut("n5", 1);
  small.Tell(kNoon);
  const Grid grid(small.fleet());
  Causes causes;
  causes.Update(small.fleet(), grid, kNoon);
  v1::DiagnoseFleetRequest request;
  request.set_node("n5");
  const v1::DiagnoseFleetResponse found = Diagnose(causes, small.fleet(), grid, request);
  ASSERT_EQ(found.causes_size(), 1);
  EXPECT_EQ(found.causes(0).subject(), "n5/rail1");
}

}  // namespace
}  // namespace rail::fabric
