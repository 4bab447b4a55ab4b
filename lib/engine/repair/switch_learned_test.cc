// What BGP tells, on its way into the bridges of all rails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>

#include "lib/engine/testing/repair_fixture.h"

namespace rail::engine {
namespace {

using ovs::CookieKind;
using ovs::Rule;
using ::testing::Contains;
using testing::Dependency;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RepairTest;

// ovs-vswitchd works on all of them: a bridge does not wait for the answer about another.
TEST_F(RepairTest, WhatBgpTellsGoesToTheBridgesOfAllRailsAtOnce) {
  world.beside = std::launch::async;
  Settle();
  Attach(world.MakePod("p2", "ns-a", "vf10", "rail1"), "10.0.4.1");
  raild->RecordChanged();
  std::mutex mutex;
  std::condition_variable more;
  int begun = 0;
  bool alone = false;
  world.faults.before = [&](Dependency dependency, std::string_view call) {
    if (dependency != Dependency::kOpenFlow || call != "Commit") return;
    std::unique_lock lock(mutex);
    ++begun;
    more.notify_all();
    alone = !more.wait_for(lock, std::chrono::seconds(10), [&] { return begun >= 2; }) || alone;
  };
  const int before0 = world.Bridge("br-rail0").commits(), before1 = world.Bridge("br-rail1").commits();
  world.LearnRemote("10.0.9.1", "ns-a");
  raild->Poll();
  world.faults.before = {};
  EXPECT_FALSE(alone);
  EXPECT_EQ(world.Bridge("br-rail0").commits(), before0 + 1);
  EXPECT_EQ(world.Bridge("br-rail1").commits(), before1 + 1);
  for (const char* bridge : {"br-rail0", "br-rail1"})
    EXPECT_THAT(world.RulesOf(CookieKind::kRemote, bridge),
                Contains(Field(&Rule::match, HasSubstr("10.0.9.1"))));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(RepairTest, WhatAnotherBridgeDoesNotTakeAtOnceIsTriedAgainInTheSameRound) {
  Settle();
  world.LearnRemote("10.0.9.1", "ns-a");
  world.faults.FailCall(Dependency::kOpenFlow, 1, {Code::kTransient, "no answer in time"});
  raild->Poll();
  EXPECT_TRUE(world.faults.failed());
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), Contains(Field(&Rule::match, HasSubstr("10.0.9.1"))));
  EXPECT_THAT(Problems(), IsEmpty());
}

}  // namespace
}  // namespace rail::engine
