// An address whose node moves it into another tenant is in both for a moment, and in none that another node names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/attach/tenant_move.h"
#include "lib/engine/testing/remotes_fixture.h"

namespace rail::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kLeaf0;
using testing::kLeaf1;
using testing::RemotesTest;
using testing::seconds;

// Paths of one node over both leaves, and of another.
const std::vector<uint32_t> kOver0 = {4200010001, 4200000077};
const std::vector<uint32_t> kOver1 = {4200010002, 65000, 4200010001, 4200000077};
const std::vector<uint32_t> kOther = {4200010001, 4200000078};
constexpr char kPod[] = "10.0.3.7";

class RemotesLeaving : public RemotesTest {
 protected:
  void Announced(uint64_t tenant) { Announce(kLeaf0, kPod, tenant, 0, kOver0); }
  // "address now leaving".
  std::vector<std::string> Left() {
    std::vector<std::string> left;
    for (const auto& [address, whose] : *remotes.table().leaving) {
      left.push_back(address.ToString() + " " + std::to_string(whose.tenant.low) + " " +
                     std::to_string(whose.leaving.low));
    }
    return left;
  }
  void ExpectPlain() {
    EXPECT_EQ(remotes.table().contested, 0U);
    EXPECT_FALSE(remotes.table().example);
    EXPECT_THAT(remotes.table().doubts->replaced, IsEmpty());
    for (const auto& [tenant, set] : remotes.table().by_tenant) {
      EXPECT_FALSE(set->empty());
      set->ForEach([](const RemoteEntry& entry) { EXPECT_FALSE(entry.contested); });
    }
  }
};

TEST_F(RemotesLeaving, AMovedAddressIsInItsNewTenantAndLeavesTheOldOneForAMoment) {
  Settle();
  EndBoth();
  Announced(7);
  EXPECT_THAT(Left(), IsEmpty()) << "the first tenant is no move";
  remotes.TakeNews();
  Announced(8);
  EXPECT_TRUE(remotes.TakeNews());
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 8"));
  EXPECT_THAT(Left(), ElementsAre("10.0.3.7 8 7"));
  ExpectPlain();
  EXPECT_EQ(remotes.next_settle(), now + kTwoIds);
  Pass(kTwoIds - seconds(1));
  remotes.Settle(now);
  EXPECT_THAT(Left(), ElementsAre("10.0.3.7 8 7"));
  Pass(seconds(1));
  remotes.Settle(now);
  EXPECT_TRUE(remotes.TakeNews());
  EXPECT_THAT(Left(), IsEmpty());
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 8"));
  EXPECT_FALSE(remotes.next_settle());
  ExpectPlain();
}

TEST_F(RemotesLeaving, TheTimeIsOverAlsoWhileBgpdPushesNothing) {
  Settle();
  EndBoth();
  Announced(7);
  Announced(8);
  remotes.FeedClosed(now);
  EXPECT_THAT(Left(), ElementsAre("10.0.3.7 8 7"));
  ASSERT_TRUE(remotes.next_settle());
  Pass(kTwoIds);
  EXPECT_LE(*remotes.next_settle(), now);
  remotes.Settle(now);
  EXPECT_THAT(Left(), IsEmpty());
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 8"));
  EXPECT_FALSE(remotes.next_settle());
}

// The leaves pass it on one after the other.
TEST_F(RemotesLeaving, AnAddressThatOneLeafStillHasInTheOldTenantIsNotContested) {
  Settle();
  EndBoth();
  Announced(7);
  Announce(kLeaf1, kPod, 7, 0, kOver1);
  Announced(8);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 8"));
  EXPECT_THAT(Left(), ElementsAre("10.0.3.7 8 7"));
  ExpectPlain();
  Announce(kLeaf1, kPod, 8, 0, kOver1);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 8"));
  EXPECT_THAT(Left(), ElementsAre("10.0.3.7 8 7"));
  ExpectPlain();
}

TEST_F(RemotesLeaving, ALeafThatGoesOnSayingTheOldTenantContestsAfterTheMoment) {
  Settle();
  EndBoth();
  Announced(7);
  Announce(kLeaf1, kPod, 7, 0, kOver1);
  Announced(8);
  Pass(kTwoIds);
  remotes.Settle(now);
  EXPECT_THAT(Left(), IsEmpty());
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "10.0.3.7 8"));
  EXPECT_EQ(remotes.table().contested, 1U);
}

TEST_F(RemotesLeaving, AWithdrawalEndsItAtOnce) {
  Settle();
  EndBoth();
  Announced(7);
  Announced(8);
  Withdraw(kLeaf0, kPod);
  EXPECT_THAT(Left(), IsEmpty());
  EXPECT_THAT(Known(), IsEmpty());
  Announced(8);
  EXPECT_THAT(Left(), IsEmpty()) << "whoever has it now has not moved it";
  Pass(kTwoIds);
  remotes.Settle(now);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 8"));
}

TEST_F(RemotesLeaving, AnotherNodesClaimIsNoMoveAndEndsOne) {
  Settle();
  EndBoth();
  Announced(7);
  Announce(kLeaf0, kPod, 8, 0, kOther);
  EXPECT_THAT(Left(), IsEmpty());
  EXPECT_EQ(remotes.table().doubts->replaced.size(), 1U);
  Announce(kLeaf0, kPod, 9, 0, kOther);
  EXPECT_THAT(Left(), ElementsAre("10.0.3.7 9 8"));
  Announce(kLeaf1, kPod, 8, 0, kOver1);
  EXPECT_THAT(Left(), IsEmpty()) << "the first node says it over the other leaf";
  EXPECT_EQ(remotes.table().contested, 1U);
  Withdraw(kLeaf1, kPod);
  EXPECT_THAT(Left(), IsEmpty()) << "what has ended does not come again";
}

TEST_F(RemotesLeaving, APathThatNamesNoNodeIsNoMove) {
  Settle();
  EndBoth();
  Announce(kLeaf0, kPod, 7);
  Announce(kLeaf0, kPod, 8);
  EXPECT_THAT(Left(), IsEmpty());
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 8"));
}

TEST_F(RemotesLeaving, WhatWasStaleHasNotMoved) {
  Settle();
  EndBoth();
  Announced(7);
  Down(kLeaf0);
  Up(kLeaf0);
  Announced(8);
  EXPECT_THAT(Left(), IsEmpty());
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 8"));
}

TEST_F(RemotesLeaving, ASecondMoveLeavesTheTenantBetween) {
  Settle();
  EndBoth();
  Announced(7);
  Announced(8);
  Pass(kTwoIds / 2);
  Announced(9);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 9"));
  EXPECT_THAT(Left(), ElementsAre("10.0.3.7 9 8"));
  Pass(kTwoIds / 2);
  remotes.Settle(now);
  EXPECT_THAT(Left(), ElementsAre("10.0.3.7 9 8")) << "its own time has not passed";
  Announced(8);
  EXPECT_THAT(Left(), ElementsAre("10.0.3.7 8 9")) << "back";
  Pass(kTwoIds);
  remotes.Settle(now);
  EXPECT_THAT(Left(), IsEmpty());
  ExpectPlain();
}

TEST_F(RemotesLeaving, WhatDoesNotMoveIsInOneTenant) {
  Settle();
  EndBoth();
  Announced(7);
  Announce(kLeaf0, "10.0.3.8", 7, 0, kOver0);
  const auto before = remotes.table().leaving;
  Announce(kLeaf0, "10.0.3.9", 7, 0, kOver0);
  EXPECT_EQ(remotes.table().leaving, before) << "nothing is made anew for it";
  Announced(8);
  EXPECT_THAT(Left(), ElementsAre("10.0.3.7 8 7"));
}

}  // namespace
}  // namespace rail::engine
