#include "lib/fabric/text.h"

#include <gtest/gtest.h>

#include "lib/fabric/testing/small_fleet.h"

namespace rail::fabric {
namespace {

using testing::kNoon;

TEST(Text, CountsThings) {
  EXPECT_EQ(Some(1, "node", "nodes"), "1 node");
  EXPECT_EQ(Some(0, "node", "nodes"), "0 nodes");
}

TEST(Text, ListsThreeNames) {
  EXPECT_EQ(ListOf({}), "");
  EXPECT_EQ(ListOf({"n1", "n2", "n3"}), "n1, n2, n3");
  EXPECT_EQ(ListOf({"n1", "n2", "n3", "n4", "n5"}), "n1, n2, n3 and 2 more");
}

TEST(Text, ATimeHasItsZoneAndOfAnotherDayItsDate) {
  EXPECT_EQ(TimeText(kNoon, kNoon + 3'600'000), "12:00 UTC");
  EXPECT_EQ(TimeText(kNoon, kNoon + 86'400'000), "2026-11-29 12:00 UTC");
  EXPECT_EQ(SinceText(kNoon, kNoon), " since 12:00 UTC");
  EXPECT_EQ(SinceText(0, kNoon), "");
}

TEST(Text, StampsAreTimes) {
  EXPECT_EQ(UnixMsOf(Stamp(kNoon + 1)), kNoon + 1);
}

}  // namespace
}  // namespace rail::fabric
