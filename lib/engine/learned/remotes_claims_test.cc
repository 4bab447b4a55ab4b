// Who is believed: the leaves of rails, within what the node accepts; and this node's own claims beside those of others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/testing/remotes_fixture.h"

namespace rail::engine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Ip;
using ::testing::IsEmpty;
using testing::kLeaf0;
using testing::kLeaf1;
using testing::Message;
using testing::milliseconds;
using ::testing::Not;
using testing::RemotesTest;

const bmp::Peer kManagement{0, Ip("192.0.2.9"), 65001, 9};
const bmp::Peer kManagementUnnumbered{0, Ip("fe80::9"), 65001, 9};

TEST_F(RemotesTest, ANeighborThatIsNoLeafOfARailIsNotBelieved) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  for (const bmp::Peer& stranger : {kManagement, kManagementUnnumbered}) {
    SCOPED_TRACE(stranger.ToString());
    Up(stranger);
    Announce(stranger, "10.0.3.8", 7);
    Announce(stranger, "10.0.3.7", 8);
    EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7")) << "it neither joins a tenant nor contests an address";
    EXPECT_EQ(remotes.table().contested, 0U);
    EXPECT_THAT(remotes.problem(),
                AllOf(HasSubstr(stranger.ToString() + " announces 10.0.3.8 with communities of ours"),
                      HasSubstr("it is not believed")));
    Withdraw(stranger, "10.0.3.8");
    EXPECT_EQ(remotes.problem(), "");
    Announce(stranger, "10.0.3.8", 7);
    Down(stranger);
    EXPECT_EQ(remotes.problem(), "");
  }
}

// It has a leaf's address on a link of its own.
TEST_F(RemotesTest, ANeighborWithALeafsAddressIsNoLeafByThatAlone) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  EndBoth();
  for (const bmp::Peer& front :
       {bmp::Peer{0, kLeaf0.address, 65010, kLeaf0.bgp_id}, bmp::Peer{0, kLeaf0.address, kLeaf0.asn, 10}}) {
    Leaf("mgmt1", front);
    Up(front);
    Announce(front, "10.0.9.9", 7);
    Announce(front, "10.0.3.7", 8);
    EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7"));
    EXPECT_EQ(remotes.table().contested, 0U);
    EXPECT_THAT(remotes.problem(), HasSubstr("is not the leaf of a rail: it is not believed"));
    Down(front);
    EXPECT_EQ(remotes.problem(), "");
  }
}

TEST_F(RemotesTest, ANeighborThatLooksInAllLikeALeafIsNotBelievedNorIsTheLeaf) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  Announce(kLeaf1, "10.1.3.7", 7);
  EndBoth();
  Leaf("mgmt1", kLeaf0);
  Up(kLeaf0);
  remotes.Settle(now);
  Announce(kLeaf0, "10.0.9.9", 7);
  Announce(kLeaf0, "10.1.3.7", 8);
  Withdraw(kLeaf0, "10.0.3.7");
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "10.1.3.7 7"));
  EXPECT_TRUE(remotes.TakeNews());
  EXPECT_THAT(
      remotes.problem(),
      AllOf(HasSubstr("the BGP neighbor on mgmt1 has the address, AS and identifier of a rail's leaf, "
                      "fe80::1 (AS 4200010001)"),
            HasSubstr("neither is believed"), Not(HasSubstr("is not the leaf of a rail"))));
  Pass(Remotes::kStale);
  remotes.Settle(now);
  EXPECT_THAT(Known(), ElementsAre("10.1.3.7 7")) << "nobody says what is left";

  EXPECT_FALSE(remotes.missed());
  sessions.erase("mgmt1");
  remotes.SetLeaves(sessions);
  EXPECT_EQ(remotes.problem(), "");
  EXPECT_TRUE(remotes.missed()) << "a new connection tells what the leaf has told meanwhile";
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  Announce(kLeaf1, "10.1.3.7", 7);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "10.1.3.7 7"));
}

TEST_F(RemotesTest, ANeighborThatIsNoLeafCountsForNoLeaf) {
  Settle();
  Up(kManagementUnnumbered);
  End(kManagementUnnumbered);
  End(kLeaf0);
  EXPECT_FALSE(remotes.complete()) << "the other rail's leaf has not told all";
  End(kLeaf1);
  EXPECT_TRUE(remotes.complete());
}

TEST_F(RemotesTest, ManyStrangersKeepNoLeafOut) {
  remotes.FeedOpened(now);
  for (uint32_t i = 0; i < 2 * Remotes::kMaxPeers; ++i) Up({0, Ip("fe80::9"), 65001, i});
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7"));
  EXPECT_EQ(remotes.problem(), "");
}

TEST_F(RemotesTest, ALeafThatIsKnownTooLateIsHeardOverAnotherConnection) {
  Settle();
  const bmp::Peer renamed{0, Ip("fe80::7"), 4200010001, 1};
  Up(renamed);
  Announce(renamed, "10.0.3.7", 7);
  EXPECT_THAT(Known(), IsEmpty());
  EXPECT_FALSE(remotes.missed());
  Leaf("br-rail0", renamed);
  EXPECT_TRUE(remotes.missed());
  remotes.FeedOpened(now);
  EXPECT_FALSE(remotes.missed());
  Up(renamed);
  Announce(renamed, "10.0.3.7", 7);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7"));
  Leaf("mgmt0", kManagementUnnumbered);
  EXPECT_FALSE(remotes.IsLeaf(kManagementUnnumbered)) << "no rail has this interface";
}

TEST_F(RemotesTest, ALeafWhoseSessionIsDownStaysTheLeaf) {
  Settle();
  Announce(kLeaf0, "10.0.3.7", 7);
  sessions["br-rail0"].peer.reset();
  remotes.SetLeaves(sessions);
  sessions.erase("br-rail1");
  remotes.SetLeaves(sessions);
  EXPECT_TRUE(remotes.IsLeaf(kLeaf0) && remotes.IsLeaf(kLeaf1));
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7"));
}

class Accepting : public RemotesTest {
 protected:
  Accepting() { config.rails[0].accept = {*IpPrefix::Parse("10.0.0.0/16"), *IpPrefix::Parse("fd00:1::/32")}; }
};

TEST_F(Accepting, WhatARailDoesNotAcceptIsNotLearnedOnIt) {
  Settle();
  for (const char* address : {"10.0.3.7", "10.1.3.7", "fd00:1::7", "fd00:2::7"}) Announce(kLeaf0, address, 7);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "fd00:1::7 7"));
  EXPECT_THAT(remotes.problem(),
              HasSubstr("fe80::1 (AS 4200010001) announces 10.1.3.7 and others, which rails[].accept"));
  Announce(kLeaf1, "10.1.3.7", 7);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "10.1.3.7 7", "fd00:1::7 7"))
      << "the other rail accepts everything";
  Withdraw(kLeaf0, "10.1.3.7");
  EXPECT_THAT(remotes.problem(), HasSubstr("announces fd00:2::7, which"));
  Withdraw(kLeaf0, "fd00:2::7");
  EXPECT_EQ(remotes.problem(), "");
}

TEST_F(Accepting, WhatALostSessionHadRefusedIsForgottenWithIt) {
  Settle();
  Announce(kLeaf0, "10.1.3.7", 7);
  Down(kLeaf0);
  EXPECT_EQ(remotes.problem(), "");
}

TEST_F(Accepting, AHostRouteMayBeAccepted) {
  config.rails[0].accept = {*IpPrefix::Parse("10.0.3.7/32"), *IpPrefix::Parse("fd00:1::7/128")};
  Settle();
  for (const char* address : {"10.0.3.7", "10.0.3.6", "fd00:1::7", "fd00:1::6"}) Announce(kLeaf0, address, 7);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.7 7", "fd00:1::7 7"));
}

constexpr tenancy::TenantId kA{0, 7}, kB{0, 8};

class OwnClaims : public RemotesTest {
 protected:
  OwnClaims() {
    Settle();
    remotes.SetOwn({{Ip("10.0.3.1"), {kA, 0}}});
  }
  std::map<IpAddress, Elsewhere> Seen() {
    std::map<IpAddress, Elsewhere> seen;
    for (const auto& [own, elsewhere] : remotes.table().elsewhere) seen[own.address] = elsewhere;
    return seen;
  }
  bool Contested(tenancy::TenantId tenant) {
    return remotes.table().by_tenant.at(tenant)->Find(Ip("10.0.3.1"))->contested;
  }
};

TEST_F(OwnClaims, AnAddressOfAPodHereThatAnotherTenantAnnouncesIsContested) {
  Announce(kLeaf0, "10.0.3.2", 8);
  EXPECT_THAT(Seen(), IsEmpty());
  remotes.TakeNews();
  Announce(kLeaf1, "10.0.3.1", 8, 1, {4200000001, 4200010001, 4200000002});
  EXPECT_TRUE(remotes.TakeNews());
  EXPECT_EQ(Seen().at(Ip("10.0.3.1")),
            (Elsewhere{{kB}, false, {{kLeaf1.address, {4200000001, 4200010001, 4200000002}}}}));
  EXPECT_TRUE(Contested(kB)) << "no bridge of this node leads to it";
  EXPECT_EQ(remotes.table().contested, 0U) << "counted as a pod's of this node";
  Withdraw(kLeaf1, "10.0.3.1");
  EXPECT_THAT(Seen(), IsEmpty());
}

TEST_F(OwnClaims, AnAddressOfAPodHereThatItsTenantAnnouncesElsewhereIsADuplicate) {
  Announce(kLeaf0, "10.0.3.1", 7, 0, {1, 2, 3});
  EXPECT_EQ(Seen().at(Ip("10.0.3.1")), (Elsewhere{{kA}, false, {{kLeaf0.address, {1, 2, 3}}}}));
  EXPECT_FALSE(Contested(kA));
  Announce(kLeaf1, "10.0.3.1", 7, 0, {1, 2, 4});
  EXPECT_EQ(Seen().at(Ip("10.0.3.1")).paths,
            (std::set<HeardPath>{{kLeaf0.address, {1, 2, 3}}, {kLeaf1.address, {1, 2, 4}}}));
}

TEST_F(OwnClaims, ThePathIsWithoutTheAsThatBgpdPutsInFront) {
  config.bgp.asn = 4200000001;
  Announce(kLeaf0, "10.0.3.1", 8, 0, {4200000001, 4200010001, 4200000002});
  EXPECT_EQ(Seen().at(Ip("10.0.3.1")).paths,
            (std::set<HeardPath>{{kLeaf0.address, {4200010001, 4200000002}}}));
  EXPECT_EQ(Seen().at(Ip("10.0.3.1")).paths.begin()->origin(), 4200000002U);
}

TEST_F(OwnClaims, AnAddressOfAPodHereThatSomebodyAnnouncesForNoTenantIsReported) {
  AnnounceWith("10.0.3.9", {});
  EXPECT_THAT(Seen(), IsEmpty());
  remotes.SetOwn({{Ip("10.0.3.1"), {kA, 0}}, {Ip("10.0.3.9"), {kA, 0}}});
  EXPECT_EQ(Seen().at(Ip("10.0.3.9")), (Elsewhere{{}, true, {{kLeaf0.address, {}}}}))
      << "the pod has come later";
  remotes.TakeNews();
  AnnounceWith("10.0.3.1", {});
  EXPECT_TRUE(remotes.TakeNews());
  EXPECT_TRUE(Seen().at(Ip("10.0.3.1")).without_tenant);
  Announce(kLeaf0, "10.0.3.1", 8);
  EXPECT_EQ(Seen().at(Ip("10.0.3.1")), (Elsewhere{{kB}, false, {{kLeaf0.address, {}}}})) << "it has changed";
  AnnounceWith("10.0.3.1", {});
  Withdraw(kLeaf0, "10.0.3.1");
  EXPECT_EQ(Seen().size(), 1U);
  Down(kLeaf0);
  EXPECT_THAT(Seen(), IsEmpty());
  remotes.SetOwn({{Ip("10.0.3.1"), {{}, 0}}});
  Up(kLeaf0);
  AnnounceWith("10.0.3.1", {});
  EXPECT_THAT(Seen(), IsEmpty()) << "without tenancy, pods are announced so";
}

TEST_F(OwnClaims, ALeafThatSendsOurOwnRoutesBackWithoutTheirCommunitiesStripsThem) {
  config.bgp.asn = 4200000001;
  const std::vector<uint32_t> back = {4200000001, 4200010001, 4200000001};
  const auto stripped = [&] { return remotes.table().stripped; };
  Announce(kLeaf0, "10.0.3.1", 7, 0, back);
  EXPECT_THAT(stripped(), IsEmpty());
  remotes.TakeNews();
  Message bare = RoutesOf(kLeaf0);
  bare.update.announced = {Ip("10.0.3.1"), Ip("10.0.3.77")};  // the second has been a pod's
  bare.update.as_path = back;
  Take(bare);
  EXPECT_TRUE(remotes.TakeNews());
  EXPECT_EQ(stripped(), (std::map<IpAddress, Stripped>{{kLeaf0.address, {Ip("10.0.3.1"), 1}}}));
  EXPECT_THAT(Seen(), IsEmpty()) << "it is this node's own";
  Message far = RoutesOf(kLeaf1);  // over the spine
  far.update = bare.update;
  Take(far);
  EXPECT_EQ(stripped().size(), 1U) << "its own rail's leaf has stripped it";
  Withdraw(kLeaf0, "10.0.3.1");
  EXPECT_EQ(stripped(), (std::map<IpAddress, Stripped>{{kLeaf1.address, {Ip("10.0.3.1"), 1}}}));
  Take(bare);
  remotes.SetOwn({{Ip("10.0.3.1"), {{}, 0}}});
  EXPECT_THAT(stripped(), IsEmpty()) << "without tenancy it has none";
  remotes.SetOwn({{Ip("10.0.3.1"), {kA, 0}}});
  EXPECT_EQ(stripped().size(), 1U);
  for (const bmp::Peer& leaf : {kLeaf0, kLeaf1}) Announce(leaf, "10.0.3.1", 7, 0, back);
  EXPECT_THAT(stripped(), IsEmpty());
  Take(bare);
  Down(kLeaf0);
  EXPECT_THAT(stripped(), IsEmpty());
}

TEST_F(RemotesTest, ARouteThatTakesThePlaceOfAnotherNodesWithoutAWithdrawalIsDoubted) {
  Settle();
  const auto replaced = [&] { return remotes.table().doubts->replaced; };
  Announce(kLeaf0, "10.0.3.7", 7, 0, {1, 2});
  Announce(kLeaf0, "10.0.3.7", 8, 0, {1, 2});
  EXPECT_THAT(replaced(), IsEmpty()) << "its namespace has another tenant";
  remotes.TakeNews();
  Announce(kLeaf0, "10.0.3.7", 7, 0, {1, 3});
  EXPECT_TRUE(remotes.TakeNews());
  ASSERT_EQ(replaced().size(), 1U);
  EXPECT_EQ(replaced().at(Ip("10.0.3.7")).tenant, kB);
  EXPECT_EQ(replaced().at(Ip("10.0.3.7")).path, (HeardPath{kLeaf0.address, {1, 2}}));
  Withdraw(kLeaf0, "10.0.3.7");
  EXPECT_THAT(replaced(), IsEmpty());
  Announce(kLeaf0, "10.0.3.7", 8, 0, {1, 2});
  EXPECT_THAT(replaced(), IsEmpty()) << "it was withdrawn before";
}

TEST_F(RemotesTest, HostRoutesWithoutATenantAreKnownWithTheirPaths) {
  Settle();
  const auto bare = [&] { return remotes.table().doubts->without_tenant; };
  AnnounceWith("10.0.3.7", {});
  AnnounceWith("fe80::9", {});
  EXPECT_EQ(bare(), (std::map<OwnKey, HeardPath>{{{{}, Ip("10.0.3.7")}, {kLeaf0.address, {}}}}));
  Announce(kLeaf0, "10.0.3.7", 7);
  EXPECT_THAT(bare(), IsEmpty());
}

TEST_F(OwnClaims, WithoutCrossRailAnotherRailsAddressOfTheTenantIsAnotherAddress) {
  config.tenancy.cross_rail = false;
  Announce(kLeaf1, "10.0.3.1", 7, 1);
  EXPECT_THAT(Seen(), IsEmpty());
  Announce(kLeaf1, "10.0.3.1", 7, 0);
  EXPECT_EQ(Seen().size(), 1U);
}

TEST_F(OwnClaims, APodThatComesOrGoesIsComparedWithWhatIsKnown) {
  Announce(kLeaf0, "10.0.3.9", 8);
  remotes.TakeNews();
  remotes.SetOwn({{Ip("10.0.3.1"), {kA, 0}}, {Ip("10.0.3.9"), {kA, 0}}});
  EXPECT_TRUE(remotes.TakeNews());
  EXPECT_EQ(Seen().size(), 1U);
  remotes.SetOwn({{Ip("10.0.3.1"), {kA, 0}}, {Ip("10.0.3.9"), {kB, 0}}});
  EXPECT_EQ(Seen().at(Ip("10.0.3.9")).tenants, (std::set{kB}));
  EXPECT_FALSE(remotes.table().by_tenant.at(kB)->Find(Ip("10.0.3.9"))->contested);
  remotes.SetOwn({});
  EXPECT_THAT(Seen(), IsEmpty());
  EXPECT_THAT(Known(), ElementsAre("10.0.3.9 8"));
}

// A pod has moved here from a node that was lost: its old path stays for 120 s, and says nothing.
TEST_F(OwnClaims, WhatALostSessionHadAnnouncedContestsNothing) {
  Announce(kLeaf0, "10.0.3.1", 8);
  EXPECT_EQ(Seen().size(), 1U);
  EndBoth();
  Down(kLeaf0);
  EXPECT_THAT(Seen(), IsEmpty());
  Up(kLeaf0, milliseconds(0));
  Announce(kLeaf0, "10.0.3.1", 8);
  EXPECT_EQ(Seen().size(), 1U);
}

TEST_F(OwnClaims, TheNodesOwnRouteThatALeafTellsItContestsNothing) {
  config.bgp.asn = 4200000001;
  Announce(kLeaf1, "10.0.3.1", 7, 0, {4200000001, 4200010001, 4200000001});
  EXPECT_THAT(Seen(), IsEmpty());
}

}  // namespace
}  // namespace rail::engine
