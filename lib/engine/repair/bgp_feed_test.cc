// What bgpd pushes: its connection, and bgpd without its BMP module.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/testing/repair_fixture.h"

namespace rail::engine {
namespace {

using ovs::CookieKind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RepairTest;
using ::testing::SizeIs;

// bgpd's connection for what it pushes.
class PushedTo : public RepairTest {
 protected:
  void SetUp() override {
    Settle();
    raild->Poll();
  }
  bool IsOpenedAnew() {
    const int before = raild->push.connections();
    raild->bgp.ConnectionsGone({});  // bgpd is asked for its sessions
    raild->Poll();
    return raild->push.connections() > before;
  }
  bool BmpIsUp() { return raild->views.Current()->bmp_up; }
};

TEST_F(PushedTo, IsOpenedAnewWhenBgpdHasQueuedWhatALostSessionHadTold) {
  EXPECT_FALSE(IsOpenedAnew());
  for (const char* lost : {"Idle", "removed"}) {
    SCOPED_TRACE(lost);
    world.bgp.SetSession("br-rail1", "Clearing");
    EXPECT_FALSE(IsOpenedAnew());
    if (lost == std::string("removed")) {
      world.bgp.RemoveNeighbor("br-rail1");
    } else {
      world.bgp.SetSession("br-rail1", lost);
    }
    EXPECT_TRUE(IsOpenedAnew());
    EXPECT_FALSE(IsOpenedAnew()) << "once is enough";
    world.bgp.SetSession("br-rail1", "Established");
    EXPECT_FALSE(IsOpenedAnew());
  }
}

TEST_F(PushedTo, IsSaidToBeDownWhenItDoesNotComeBackInTime) {
  EXPECT_TRUE(BmpIsUp());
  raild->bgp.FeedClosed("");
  raild->bgp.Poll();
  EXPECT_TRUE(BmpIsUp()) << "bgpd connects again within a second";
  ASSERT_TRUE(raild->bgp.next_poll());
  EXPECT_LE(*raild->bgp.next_poll(), Clock::now() + std::chrono::seconds(4));
  world.passed += std::chrono::seconds(4);
  raild->bgp.Poll();
  EXPECT_FALSE(BmpIsUp());
  EXPECT_THAT(Problems(), ElementsAre(AllOf(HasSubstr("bgp feed: nothing new is learned"),
                                            HasSubstr("has not connected to 127.0.0.1 port 11019"))));
  raild->bgp.FeedOpened();
  raild->bgp.Poll();
  EXPECT_TRUE(BmpIsUp());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(PushedTo, IsOpenedAnewForASessionThatCameBackBetweenTwoLooks) {
  world.bgp.SetUptime(1000);
  EXPECT_TRUE(IsOpenedAnew());
}

// With the list of namespaces raild knows which cluster its node is of. Nothing else happens on the node afterwards.
TEST_F(PushedTo, IsOpenedAnewAtOnceForAClusterMadeAnewAndNotForTheFirst) {
  world.LearnRemote("10.0.9.1", "ns-a");
  world.config.kubernetes.tenants = true;
  raild = world.StartRaild(std::chrono::hours(1));
  Audit();
  raild->Poll();
  world.passed += std::chrono::seconds(1);
  raild->Poll();
  ASSERT_EQ(raild->bgp.next_poll(), std::nullopt);
  const auto read_list = [&](const std::string& uid) {
    tenancy::TenantMap map;
    map.namespaces["kube-system"].uid = uid;
    world.tenants = std::make_shared<const tenancy::TenantMap>(std::move(map));
    raild->bgp.Audit();
  };
  read_list("0b5f");
  EXPECT_EQ(raild->bgp.next_poll(), std::nullopt) << "what was learned without a mark says whose it is";
  read_list("0b60");
  const std::optional<Deadline> next = raild->bgp.next_poll();
  ASSERT_TRUE(next);
  EXPECT_LE(*next, Clock::now() + world.passed);
  const int before = raild->push.connections();
  raild->Poll();
  EXPECT_GT(raild->push.connections(), before);
  raild->Poll();
  EXPECT_EQ(raild->bgp.next_poll(), std::nullopt) << "once is enough";
}

TEST_F(PushedTo, IsOpenedAnewWhileASessionIsDownIfTheTableHasChanged) {
  world.bgp.SetSession("br-rail1", "Idle");
  EXPECT_TRUE(IsOpenedAnew());
  const auto is_opened_anew = [&] {
    const int before = raild->push.connections();
    raild->Poll();
    return raild->push.connections() > before;
  };
  for (int i = 0; i < 3; ++i) {
    world.passed += std::chrono::seconds(30);
    EXPECT_FALSE(is_opened_anew()) << "nothing can be held back";
    world.LearnRemote("10.0.9." + std::to_string(i), "ns-a");
    EXPECT_FALSE(is_opened_anew()) << "not before it is time to look again";
    world.passed += std::chrono::seconds(30);
    EXPECT_TRUE(is_opened_anew());
  }
  world.passed += std::chrono::seconds(4095);
  EXPECT_FALSE(is_opened_anew());
  world.LearnRemote("10.0.9.9", "ns-a");
  world.passed += std::chrono::seconds(60);
  EXPECT_FALSE(is_opened_anew()) << "bgpd keeps nothing of it any more";
}

TEST_F(PushedTo, NothingIsDueOnANodeThatDoesNothing) {
  world.passed += std::chrono::seconds(1);
  raild->Poll();
  raild->Poll();
  EXPECT_EQ(raild->bgp.next_poll(), std::nullopt);
  world.bgp.SetEndOfRibDue(true);
  world.bgp.SetUptime(0);
  EXPECT_TRUE(IsOpenedAnew());
  raild->Poll();
  ASSERT_TRUE(raild->bgp.next_poll());
  EXPECT_LE(*raild->bgp.next_poll(), Clock::now() + world.passed + std::chrono::milliseconds(250))
      << "bgpd tells nobody when a leaf has sent its End-of-RIB";
}

// The front end's leaf has the address, AS and identifier of a rail's: raild asks before it takes a route of either.
TEST_F(PushedTo, NothingOfALeafIsTakenWhileAnotherNeighborLooksLikeIt) {
  world.bgp.SetOneLeaf();
  raild = world.StartRaild(std::chrono::hours(1));
  Audit();
  world.LearnRemote("10.0.9.1", "ns-a");
  raild->Poll();
  ASSERT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  world.bgp.SetSession("mgmt1", "Established");
  world.bgp.SetUptime(0);
  world.LearnRemote("10.0.9.2", "ns-a", "mgmt1");
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  EXPECT_THAT(Problems(), ::testing::Contains(AllOf(HasSubstr("the BGP neighbor on mgmt1 has the address"),
                                                    HasSubstr("neither is believed"))));
  world.bgp.RemoveNeighbor("mgmt1");
  world.LearnRemote("10.0.9.3", "ns-a");
  for (int i = 0; i < 3; ++i) {
    raild->bgp.ConnectionsGone({});
    raild->Poll();
  }
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2))
      << "a new connection tells what the leaf has told";
}

// Two sessions with one leaf that has one link-local address on all its ports.
TEST_F(PushedTo, WhatOneOfTwoSessionsThatLookAlikeWithdrawsStaysWhileTheOtherHasIt) {
  world.bgp.SetOneLeaf();
  raild = world.StartRaild(std::chrono::hours(1));
  Audit();
  raild->Poll();
  EXPECT_TRUE(raild->views.Current()->bmp_ambiguous);
  EXPECT_EQ(raild->push.connections(), 1);
  world.LearnRemote("10.0.9.1", "ns-a");
  world.LearnRemote("10.0.9.1", "ns-a", "br-rail1");
  raild->Poll();
  ASSERT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  for (const char* interface : {"br-rail0", "br-rail1"}) {
    SCOPED_TRACE(interface);
    world.bgp.Forget(*IpPrefix::Parse("10.0.9.1/32"), interface);
    const int before = raild->push.connections();
    raild->Poll();
    EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
    EXPECT_EQ(raild->push.connections(), before) << "bgpd does not dump its table for each withdrawal";
    world.passed += std::chrono::seconds(30);
    raild->Poll();
    EXPECT_EQ(raild->push.connections(), before + 1);
    EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(interface == std::string("br-rail0") ? 1 : 0));
  }
  world.passed += std::chrono::minutes(5);
  raild->Poll();
  raild->Poll();
  EXPECT_EQ(raild->push.connections(), 3) << "nothing is in doubt";
}

// bgpd without its BMP module.

TEST_F(PushedTo, ABgpdThatComesBackWithoutTheModuleCostsNoPodItsRules) {
  world.LearnRemote("10.0.9.1", "ns-a");
  raild->Poll();
  ASSERT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  world.bgp.Restart();
  world.bgp.SetModule(false);
  Audit();
  for (const config::Rail& rail : world.config.rails) world.bgp.SetSession(rail.bridge, "Established");
  Audit();
  EXPECT_FALSE(BmpIsUp());
  EXPECT_THAT(Problems(),
              ElementsAre(AllOf(HasSubstr("bgp feed: nothing new is learned, and what was learned stays"),
                                HasSubstr("-M bmp"), HasSubstr("/etc/frr/daemons"))));
  for (int i = 0; i < 3; ++i) {
    world.passed += Remotes::kStale;
    raild->Poll();
    Audit();
    EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  }
  EXPECT_THAT(raild->views.Current()->remotes, SizeIs(1));
  // One that pushes again is believed: after its dump, when it is old enough.
  world.bgp.Restart();
  world.bgp.SetModule(true);
  Audit();
  for (const config::Rail& rail : world.config.rails) world.bgp.SetSession(rail.bridge, "Established");
  Audit();
  EXPECT_TRUE(BmpIsUp());
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  world.passed += Remotes::kStale;
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), IsEmpty());
}

TEST_F(PushedTo, ANewRaildWithoutTheModuleLeavesTheRulesOfTheOneBefore) {
  world.LearnRemote("10.0.9.1", "ns-a");
  raild->Poll();
  world.bgp.Restart();
  world.bgp.SetModule(false);
  raild = world.StartRaild(std::chrono::hours(1));
  for (int i = 0; i < 3; ++i) {
    Audit();
    raild->Poll();
    EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
    EXPECT_FALSE(raild->views.Current()->learning_complete);
    world.passed += Remotes::kStale;
  }
}

TEST_F(PushedTo, APortThatCannotBeBoundIsSaidAndBgpdIsNotToldToPushThere) {
  world.bgp.Restart();
  raild = world.StartRaild(std::chrono::hours(1));
  raild->bgp.NoFeed("listen for bgpd's BMP on 127.0.0.1 port 11019: another program has it");
  Audit();
  for (const config::Rail& rail : world.config.rails) world.bgp.SetSession(rail.bridge, "Established");
  Audit();
  EXPECT_EQ(world.bgp.feed_port(), std::nullopt);
  EXPECT_THAT(Problems(), ElementsAre(AllOf(HasSubstr("bgp feed"), HasSubstr("another program has it"))));
  EXPECT_FALSE(BmpIsUp());
  raild->bgp.NoFeed("");
  Audit();
  EXPECT_EQ(world.bgp.feed_port(), world.config.bgp.bmp_port);
  EXPECT_TRUE(BmpIsUp());
  EXPECT_THAT(Problems(), IsEmpty());
}

}  // namespace
}  // namespace rail::engine
