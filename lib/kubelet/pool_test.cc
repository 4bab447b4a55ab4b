#include "lib/kubelet/pool.h"

#include <gmock/gmock.h>

namespace rail::kubelet {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kGrace = 30s;
const Deadline kBegin{1h};

std::vector<std::string> Unhealthy(const DevicePool::Look& look) {
  std::vector<std::string> reasons;
  for (const Device& each : look.devices)
    if (!each.healthy) reasons.push_back(each.id + ": " + each.reason);
  return reasons;
}

std::vector<std::string> Ids(const DevicePool::Look& look) {
  std::vector<std::string> ids;
  for (const Device& each : look.devices) ids.push_back(each.id);
  return ids;
}

class Pool : public ::testing::Test {
 protected:
  DevicePool::Look See(Clock::duration at, const std::string& fault) {
    return pool_.See({{.id = "a", .fault = fault}}, kBegin + at);
  }
  DevicePool::Look SeeAtOnce(Clock::duration at, const std::string& fault) {
    return pool_.See({{.id = "a", .fault = fault, .at_once = true}}, kBegin + at);
  }
  DevicePool pool_{kGrace};
};

TEST_F(Pool, TheListIsEmptyAtFirst) {
  const auto look = pool_.See({}, kBegin);
  EXPECT_FALSE(look.changed);
  EXPECT_THAT(look.devices, IsEmpty());
  EXPECT_EQ(look.look_again, std::nullopt);
}

TEST_F(Pool, ADeviceThatIsWellIsOnTheListWithItsNode) {
  const auto look = pool_.See({{.id = "a", .numa = 1}, {.id = "b"}}, kBegin);
  EXPECT_TRUE(look.changed);
  ASSERT_THAT(Ids(look), ElementsAre("a", "b"));
  EXPECT_EQ(look.devices[0].numa, 1);
  EXPECT_EQ(look.devices[1].numa, std::nullopt);
  EXPECT_THAT(Unhealthy(look), IsEmpty());
  EXPECT_EQ(look.look_again, std::nullopt);
}

TEST_F(Pool, TheSameListHasNotChanged) {
  (void)See(0s, "");
  EXPECT_FALSE(See(1s, "").changed);
}

TEST_F(Pool, AnotherNodeIsAChange) {
  (void)pool_.See({{.id = "a", .numa = 0}}, kBegin);
  EXPECT_TRUE(pool_.See({{.id = "a", .numa = 1}}, kBegin).changed);
}

TEST_F(Pool, AFlapShorterThanTheGracePeriodIsNotTold) {
  (void)See(0s, "");
  const auto down = See(1s, "no carrier");
  EXPECT_FALSE(down.changed);
  EXPECT_THAT(Unhealthy(down), IsEmpty());
  EXPECT_EQ(down.look_again, kBegin + 1s + kGrace);
  EXPECT_FALSE(See(kGrace, "no carrier").changed);
  const auto up = See(kGrace + 1s - 1ns, "");
  EXPECT_FALSE(up.changed);
  EXPECT_EQ(up.look_again, std::nullopt);
}

TEST_F(Pool, AFaultIsToldAtTheEndOfTheGracePeriod) {
  (void)See(-1s, "");
  (void)See(0s, "no carrier");
  EXPECT_FALSE(See(kGrace - 1ns, "no carrier").changed);
  const auto look = See(kGrace, "no carrier");
  EXPECT_TRUE(look.changed);
  EXPECT_THAT(Unhealthy(look), ElementsAre("a: no carrier"));
  EXPECT_EQ(look.look_again, std::nullopt);
}

TEST_F(Pool, AFaultThatBecomesAnotherHasLastedWithoutABreak) {
  (void)See(-1s, "");
  (void)See(0s, "no carrier");
  (void)See(kGrace - 1s, "no session");
  EXPECT_THAT(Unhealthy(See(kGrace, "no session")), ElementsAre("a: no session"));
}

TEST_F(Pool, ABreakBeginsThePeriodAnew) {
  (void)See(-1s, "");
  (void)See(0s, "no carrier");
  (void)See(kGrace - 2s, "");
  const auto again = See(kGrace - 1s, "no carrier");
  EXPECT_EQ(again.look_again, kBegin + kGrace - 1s + kGrace);
  EXPECT_THAT(Unhealthy(See(kGrace, "no carrier")), IsEmpty());
  EXPECT_THAT(Unhealthy(See(2 * kGrace - 1s, "no carrier")), ElementsAre("a: no carrier"));
}

TEST_F(Pool, RecoveryIsToldAtOnce) {
  (void)See(-1s, "");
  (void)See(0s, "no carrier");
  (void)See(kGrace, "no carrier");
  const auto look = See(kGrace + 1ns, "");
  EXPECT_TRUE(look.changed);
  EXPECT_THAT(Unhealthy(look), IsEmpty());
}

TEST_F(Pool, WhatIsNoFlapIsToldAtOnce) {
  (void)See(0s, "");
  const auto look = SeeAtOnce(1s, "lost");
  EXPECT_TRUE(look.changed);
  EXPECT_THAT(Unhealthy(look), ElementsAre("a: lost"));
  EXPECT_EQ(look.look_again, std::nullopt);
}

TEST_F(Pool, AnUnhealthyDeviceStaysSoUntilItIsWell) {
  (void)SeeAtOnce(0s, "in use by another");
  const auto look = See(1s, "no carrier");
  EXPECT_FALSE(look.changed);
  EXPECT_THAT(Unhealthy(look), ElementsAre("a: no carrier"));
}

TEST_F(Pool, AnotherReasonAloneIsNoChange) {
  (void)SeeAtOnce(0s, "no session for 31 s");
  EXPECT_FALSE(SeeAtOnce(1s, "no session for 32 s").changed);
}

TEST_F(Pool, ADeviceThatIsNotSeenLeavesAtOnceAndIsForgotten) {
  (void)See(0s, "no carrier");
  const auto gone = pool_.See({}, kBegin + 1s);
  EXPECT_TRUE(gone.changed);
  EXPECT_THAT(gone.devices, IsEmpty());
  EXPECT_EQ(gone.look_again, std::nullopt);
  EXPECT_TRUE(See(2s, "").changed);
  EXPECT_THAT(Unhealthy(See(kGrace, "no carrier")), IsEmpty());
}

TEST_F(Pool, AFaultThatIsThereFirstIsToldAtOnce) {
  const auto look = See(0s, "the NIC is not prepared");
  EXPECT_TRUE(look.changed);
  EXPECT_THAT(Unhealthy(look), ElementsAre("a: the NIC is not prepared"));
  EXPECT_THAT(Unhealthy(See(1s, "")), IsEmpty());
  EXPECT_THAT(Unhealthy(See(2s, "no carrier")), IsEmpty()) << "it has been well since";
}

TEST_F(Pool, TheNearestEndOfAPeriodIsWhenToLookAgain) {
  const Seen a{.id = "a", .fault = "no carrier"};
  const Seen b{.id = "b", .fault = "no session"};
  (void)pool_.See({{.id = "a"}, {.id = "b"}}, kBegin - 1s);
  (void)pool_.See({a, {.id = "b"}}, kBegin);
  EXPECT_EQ(pool_.See({a, b}, kBegin + 5s).look_again, kBegin + kGrace);
  EXPECT_EQ(pool_.See({b, a}, kBegin + 6s).look_again, kBegin + kGrace);
  EXPECT_EQ(pool_.See({b, a}, kBegin + kGrace).look_again, kBegin + 5s + kGrace);
}

TEST_F(Pool, TheOrderIsThatOfTheAddresses) {
  const auto look = pool_.See({{.id = "vf1"},
                               {.id = "10000:01:00.0"},
                               {.id = "0000:a1:00.2"},
                               {.id = "0000:3b:01.0"},
                               {.id = "eth0"},
                               {.id = "0000:3b:00.7"}},
                              kBegin);
  EXPECT_THAT(Ids(look),
              ElementsAre("0000:3b:00.7", "0000:3b:01.0", "0000:a1:00.2", "10000:01:00.0", "eth0", "vf1"));
  const auto other = pool_.See({{.id = "0000:3b:00.7"},
                                {.id = "eth0"},
                                {.id = "0000:3b:01.0"},
                                {.id = "0000:a1:00.2"},
                                {.id = "10000:01:00.0"},
                                {.id = "vf1"}},
                               kBegin);
  EXPECT_FALSE(other.changed);
}

}  // namespace
}  // namespace rail::kubelet
