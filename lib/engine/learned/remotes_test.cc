#include "lib/engine/learned/remotes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/testing/remotes_fixture.h"

namespace rail::engine {
namespace {

using testing::Communities;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Ip;
using ::testing::IsEmpty;
using testing::kAsn;
using testing::kLeaf0;
using testing::kLeaf1;
using testing::Message;
using testing::milliseconds;
using testing::RemotesTest;
using testing::seconds;

// bgpd pushes a route before it checks for loops, and a leaf sends a node its own routes, too.
TEST_F(RemotesTest, AnAddressOfThisNodeThatTheLeafTellsItIsNoRemote) {
  config.bgp.asn = 4200000001;
  Settle();
  Message routes = RoutesOf(kLeaf0);
  routes.update.announced = {Ip("10.0.3.1")};
  routes.update.communities = Communities(kAsn, 7, 0);
  routes.update.as_path = {4200000001, 4200010001, 4200000001};
  Take(routes);
  EXPECT_EQ(remotes.table().known, 0U);
  routes.update.as_path = {4200000001, 4200010001, 4200000002};
  Take(routes);
  EXPECT_EQ(remotes.table().known, 1U);
  // The same address, now by way of this node: the path that was good is gone.
  routes.update.as_path = {4200000001, 4200010001, 4200000001};
  Take(routes);
  EXPECT_EQ(remotes.table().known, 0U);
}

TEST_F(RemotesTest, LearnsAndForgets) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7, 1);
  EXPECT_TRUE(remotes.TakeNews());
  EXPECT_FALSE(remotes.TakeNews());
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7"));
  EXPECT_EQ(remotes.table().by_tenant.begin()->second->Find(Ip("10.0.3.7"))->rail, 1U);
  Announce(kLeaf0, "10.0.3.7", 7, 1);
  EXPECT_FALSE(remotes.TakeNews()) << "the same again is no news";
  Withdraw(kLeaf0, "10.0.3.7");
  EXPECT_TRUE(remotes.TakeNews());
  EXPECT_THAT(Known(), IsEmpty());
  EXPECT_EQ(remotes.table().known, 0U);
}

TEST_F(RemotesTest, TakesOnlyOurShape) {
  Settle();
  const auto [high, low] = tenancy::TenantCommunities(kAsn, {0, 7});
  const auto [other_high, other_low] = tenancy::TenantCommunities(kAsn, {1, 8});
  const auto rail = tenancy::RailCommunity(kAsn, 0);
  AnnounceWith("10.0.3.1", {});
  AnnounceWith("10.0.3.2", {{65001, 1, 2}});
  AnnounceWith("10.0.3.3", Communities(kAsn + 1, 7, 0));
  AnnounceWith("10.0.3.4", {high, low});
  AnnounceWith("10.0.3.5", {rail});
  AnnounceWith("10.0.3.6", {high, low, other_low, rail});
  AnnounceWith("10.0.3.7", {high, low, rail, {65001, 1, 2}});
  AnnounceWith("10.0.3.8", {high, rail});
  AnnounceWith("10.0.3.9", {low, rail});
  AnnounceWith("10.0.3.10", {high, other_high, low, rail});
  for (const char* never :
       {"0.0.0.0", "127.0.0.1", "169.254.1.1", "224.0.0.1", "255.255.255.255", "fe80::7", "ff02::1", "::1"})
    AnnounceWith(never, {high, low, rail});
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7"));
  AnnounceWith("10.0.3.7", {});
  EXPECT_THAT(Known(), IsEmpty()) << "it was announced anew, without a tenant";
}

TEST_F(RemotesTest, StaysWhileAnyPeerHasIt) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  Announce(kLeaf1, "10.0.3.7", 7);
  EXPECT_EQ(remotes.table().known, 1U);
  Withdraw(kLeaf0, "10.0.3.7");
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7"));
  Withdraw(kLeaf1, "10.0.3.7");
  EXPECT_THAT(Known(), IsEmpty());
}

TEST_F(RemotesTest, ChangesItsTenant) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  Announce(kLeaf0, "10.0.3.7", 8);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 8"));
}

TEST_F(RemotesTest, TwoTenantsOfOneAddressAreContested) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  Announce(kLeaf1, "10.0.3.7", 8);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "10.0.3.7 8"));
  EXPECT_EQ(remotes.table().contested, 1U);
  EXPECT_EQ(remotes.table().example->address, Ip("10.0.3.7"));
  EXPECT_EQ(remotes.table().example->tenants.size(), 2U);
  EXPECT_EQ(remotes.table().known, 1U);
  Announce(kLeaf0, "10.0.3.7", 8);
  EXPECT_EQ(remotes.table().contested, 0U);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 8"));
}

TEST_F(RemotesTest, ATableIsCompleteWhenEveryLeafHasEndedItsOwn) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  End(kLeaf0);
  EXPECT_FALSE(remotes.complete());
  End(kLeaf1);
  EXPECT_TRUE(remotes.complete());
  EXPECT_EQ(remotes.next_settle(), std::nullopt) << "nothing is waited for";
}

TEST_F(RemotesTest, AReconnectDropsNothingThatIsStillThere) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  Announce(kLeaf0, "10.0.3.8", 7);
  EndBoth();
  remotes.FeedClosed(now);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "10.0.3.8 7"));
  Pass(seconds(2));
  Settle();
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "10.0.3.8 7"));
  Announce(kLeaf0, "10.0.3.7", 7);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "10.0.3.8 7"));
  EndBoth();
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7")) << "the other one went while nobody was listening";
}

TEST_F(RemotesTest, AYoungSessionsEndOfTableSaysLittle) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  remotes.FeedClosed(now);
  // bgpd was restarted: its sessions have just come up, and its tables are nearly empty.
  remotes.FeedOpened(now);
  Up(kLeaf0, milliseconds(100));
  Up(kLeaf1, milliseconds(100));
  EndBoth();
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7"));
  Withdraw(kLeaf0, "10.0.3.7");
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7")) << "bgpd has not heard it yet";
  Pass(milliseconds(4900));
  remotes.Settle(now);
  EXPECT_FALSE(remotes.complete());
  ASSERT_TRUE(remotes.next_settle());
  Pass(*remotes.next_settle() > now ? std::chrono::ceil<milliseconds>(*remotes.next_settle() - now)
                                    : milliseconds(0));
  remotes.Settle(now);
  EXPECT_TRUE(remotes.complete());
}

TEST_F(RemotesTest, ALeafThatIsStillSendingHasNotSettled) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  EndBoth();
  Down(kLeaf0);
  Up(kLeaf0, milliseconds(0));
  const auto rounds = static_cast<int>((Remotes::kSettled + seconds(1)) / milliseconds(100));
  for (int i = 0; i < rounds; ++i) {
    Pass(milliseconds(100));
    for (int j = 0; j < 40; ++j) Announce(kLeaf0, "10.1." + std::to_string(i) + "." + std::to_string(j), 7);
    remotes.Settle(now);
  }
  EXPECT_THAT(Known(), ::testing::Contains("10.0.3.7 7"))
      << "it has been up for long, and its turn has not come yet";
  EXPECT_LT(*remotes.next_settle(), now + seconds(2)) << "it has not settled";
  Pass(seconds(2));
  remotes.Settle(now);
  EXPECT_GT(*remotes.next_settle(), now + seconds(100)) << "it has";
}

// A leaf with 180 neighbours or more is silent for the first 10 s of a session.
TEST_F(RemotesTest, ALeafThatOwesTheEndOfItsRoutesHasNotSettled) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  Announce(kLeaf0, "10.0.3.8", 7);
  EndBoth();
  Down(kLeaf0);
  remotes.SetEndOfRibDue(Ip("fe80::1"), true, now);
  EXPECT_FALSE(remotes.AwaitsEndOfRib()) << "its session is down";
  Up(kLeaf0, milliseconds(0));
  remotes.SetEndOfRibDue(Ip("fe80::9"), true, now);
  EXPECT_FALSE(remotes.AwaitsEndOfRib()) << "another leaf";
  remotes.SetEndOfRibDue(Ip("fe80::1"), true, now);
  EXPECT_TRUE(remotes.AwaitsEndOfRib());
  Pass(seconds(10));
  remotes.Settle(now);
  Withdraw(kLeaf0, "10.0.3.8");
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "10.0.3.8 7")) << "bgpd has not heard it again yet";
  remotes.SetEndOfRibDue(Ip("fe80::1"), false, now);
  EXPECT_FALSE(remotes.AwaitsEndOfRib());
  Announce(kLeaf0, "10.0.3.7", 7);
  remotes.Settle(now);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "10.0.3.8 7")) << "bgpd may still be pushing";
  EXPECT_EQ(remotes.next_settle(), now + seconds(1));
  Pass(seconds(1));
  remotes.Settle(now);
  EXPECT_EQ(remotes.next_settle(), begin + Remotes::kStale)
      << "it has settled; what it has not told again is held";
}

TEST_F(RemotesTest, ALeafThatNeverEndsItsRoutesSettlesAllTheSame) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  EndBoth();
  Down(kLeaf0);
  Up(kLeaf0, milliseconds(0));
  remotes.SetEndOfRibDue(Ip("fe80::1"), true, now);
  EXPECT_EQ(remotes.next_settle(), now + Remotes::kEndOfRibWait);
  Pass(Remotes::kEndOfRibWait - milliseconds(1));
  remotes.Settle(now);
  EXPECT_TRUE(remotes.AwaitsEndOfRib());
  Pass(milliseconds(1));
  remotes.Settle(now);
  EXPECT_FALSE(remotes.AwaitsEndOfRib());
}

TEST_F(RemotesTest, ADumpWithPausesIsNotAtItsEnd) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  Announce(kLeaf0, "10.0.3.8", 7);
  remotes.FeedClosed(now);
  remotes.FeedOpened(now);
  Up(kLeaf0);
  Up(kLeaf1);
  Pass(Remotes::kEndOfRibWait - seconds(1));
  Announce(kLeaf0, "10.0.3.7", 7);
  Pass(Remotes::kEndOfRibWait - seconds(1));
  remotes.Settle(now);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "10.0.3.8 7")) << "its turn may come yet";
  Pass(seconds(1));
  remotes.Settle(now);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7")) << "a bgpd that has nothing to say for so long has ended";
}

TEST_F(RemotesTest, WhatWasHeardAgainAndWithdrawnIsGoneAtOnce) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  EndBoth();
  Down(kLeaf0);
  Up(kLeaf0, milliseconds(0));
  Announce(kLeaf0, "10.0.3.7", 7);
  Withdraw(kLeaf0, "10.0.3.7");
  EXPECT_THAT(Known(), IsEmpty());
}

TEST_F(RemotesTest, ASessionThatStaysDownLosesItsRemotesInTheEnd) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  Announce(kLeaf1, "10.1.3.7", 7);
  EndBoth();
  Down(kLeaf0);
  Pass(Remotes::kStale - milliseconds(1));
  remotes.Settle(now);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "10.1.3.7 7"));
  Pass(milliseconds(1));
  EXPECT_EQ(remotes.next_settle(), now);
  remotes.Settle(now);
  EXPECT_THAT(Known(), ElementsAre("10.1.3.7 7"));
}

TEST_F(RemotesTest, WhatIsFreshOverrulesWhatIsStale) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  EndBoth();
  Down(kLeaf0);
  Announce(kLeaf1, "10.0.3.7", 8);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 8"));
  EXPECT_EQ(remotes.table().contested, 0U);
}

TEST_F(RemotesTest, ALeafUnderANewNameReplacesTheOldOneWhenAllHaveSettled) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  EndBoth();
  Down(kLeaf0);
  const bmp::Peer renamed{0, Ip("fe80::9"), 4200010001, 9};
  Leaf("br-rail0", renamed);
  Up(renamed, milliseconds(0));
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7"));
  Pass(Remotes::kSettled + seconds(1));
  remotes.Settle(now);
  EXPECT_THAT(Known(), IsEmpty());
}

TEST_F(RemotesTest, WithoutAllSessionsItIsCompleteWhenTheTimeIsOver) {
  remotes.FeedOpened(now);
  Up(kLeaf0);
  End(kLeaf0);
  EXPECT_FALSE(remotes.complete());
  Pass(Remotes::kStale);
  remotes.Settle(now);
  EXPECT_TRUE(remotes.complete());
}

TEST_F(RemotesTest, TimeDoesNotPassWhileNothingIsPushed) {
  EXPECT_EQ(remotes.next_settle(), std::nullopt);
  Pass(2 * Remotes::kStale);
  remotes.Settle(now);
  EXPECT_FALSE(remotes.complete());
  remotes.FeedOpened(now);
  Up(kLeaf0);
  Announce(kLeaf0, "10.0.3.7", 7);
  Pass(seconds(100));
  Down(kLeaf0);
  Pass(seconds(10));
  remotes.FeedClosed(now);
  EXPECT_EQ(remotes.next_settle(), std::nullopt);
  Pass(2 * Remotes::kStale);
  remotes.Settle(now);
  EXPECT_FALSE(remotes.complete());
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7"));
  remotes.FeedOpened(now);
  EXPECT_EQ(remotes.next_settle(), now + seconds(10)) << "110 s of its 120 have passed";
  Pass(seconds(10));
  remotes.Settle(now);
  EXPECT_TRUE(remotes.complete());
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7"));
  EXPECT_EQ(remotes.next_settle(), now + seconds(100));
  Pass(seconds(100));
  remotes.Settle(now);
  EXPECT_THAT(Known(), IsEmpty());
}

TEST_F(RemotesTest, IsCompleteInTheEndThoughNoSessionComesUp) {
  remotes.FeedOpened(now);
  EXPECT_EQ(remotes.next_settle(), now + Remotes::kStale);
  Pass(Remotes::kStale - milliseconds(1));
  remotes.Settle(now);
  EXPECT_FALSE(remotes.complete());
  Pass(milliseconds(1));
  remotes.Settle(now);
  EXPECT_TRUE(remotes.complete());
  EXPECT_TRUE(remotes.TakeNews());
}

TEST_F(RemotesTest, OfTwoSessionsThatLookAlikeNothingIsForgottenBeforeANewConnection) {
  Settle();
  EXPECT_FALSE(remotes.ambiguous());
  Up(kLeaf0);
  EXPECT_TRUE(remotes.ambiguous());
  EXPECT_FALSE(remotes.in_doubt()) << "a connection begins with its sessions";
  Announce(kLeaf0, "10.0.3.7", 7);
  Announce(kLeaf0, "10.0.3.8", 7);
  Announce(kLeaf1, "10.0.3.9", 7);
  EndBoth();
  EXPECT_TRUE(remotes.complete());
  Withdraw(kLeaf1, "10.0.3.9");
  EXPECT_FALSE(remotes.in_doubt());
  Withdraw(kLeaf0, "10.0.3.7");
  EXPECT_TRUE(remotes.in_doubt());
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "10.0.3.8 7"));
  remotes.FeedOpened(now);
  EXPECT_FALSE(remotes.ambiguous());
  EXPECT_FALSE(remotes.in_doubt());
  Up(kLeaf0);
  Up(kLeaf0);
  Announce(kLeaf0, "10.0.3.8", 7);
  EndBoth();
  EXPECT_THAT(Known(), ElementsAre("10.0.3.8 7"));
}

// bgpd pushes the new session's routes without an end of the dump, and nothing about what the other session still has.
TEST_F(RemotesTest, ASecondSessionThatLooksLikeTheFirstTakesNothingFromIt) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  EndBoth();
  Up(kLeaf0, milliseconds(0));
  EXPECT_TRUE(remotes.in_doubt());
  Pass(Remotes::kEndOfRibWait);
  remotes.Settle(now);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7"));
}

TEST_F(RemotesTest, ASessionInThePlaceOfOneThatEndedWithoutAWordIsNotTwo) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  EndBoth();
  Up(kLeaf0, milliseconds(0));
  EXPECT_TRUE(remotes.ambiguous());
  remotes.NotAmbiguous();
  EXPECT_FALSE(remotes.ambiguous());
  Pass(Remotes::kStale);
  remotes.Settle(now);
  EXPECT_THAT(Known(), IsEmpty());
}

TEST_F(RemotesTest, SaysWhatItCannotRead) {
  Settle();
  EXPECT_EQ(remotes.problem(), "");
  Message message;
  message.kind = Message::Kind::kMalformed;
  message.reason = "half a message";
  Take(message);
  EXPECT_THAT(remotes.problem(), HasSubstr("half a message"));
  message.kind = Message::Kind::kPostPolicy;
  Take(message);
  EXPECT_THAT(remotes.problem(), HasSubstr("pre-policy"));
  EXPECT_TRUE(remotes.TakeNews());
  Settle();
  EXPECT_EQ(remotes.problem(), "");
}

TEST_F(RemotesTest, ATableThatIsHandedOutNeverChanges) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  Announce(kLeaf0, "10.0.3.9", 9);
  const RemoteTable before = remotes.table();
  Announce(kLeaf0, "10.0.3.8", 7);
  const RemoteTable after = remotes.table();
  EXPECT_EQ(before.by_tenant.at({0, 7})->size(), 1U);
  EXPECT_EQ(after.by_tenant.at({0, 7})->size(), 2U);
  EXPECT_EQ(before.by_tenant.at({0, 9}), after.by_tenant.at({0, 9}))
      << "a tenant that has not changed shares its set";
}

}  // namespace
}  // namespace rail::engine
