// Announcements in bgpd, and its sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/testing/repair_fixture.h"

namespace rail::engine {
namespace {

using ovs::CookieKind;
using ::testing::AllOf;
using testing::Dependency;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RepairTest;
using ::testing::SizeIs;

// Announcements.

TEST_F(RepairTest, AnnouncesAgainWhatBgpdHasForgotten) {
  Settle();
  world.bgp.Restart();
  Audit();
  EXPECT_THAT(*world.bgp.Announced({}),
              ElementsAre(frr::Announcement{Ip("10.0.3.1"), "rail0", 0, world.Tenant("ns-a")}));
}

TEST_F(RepairTest, CorrectsAnAnnouncementOfTheWrongTenant) {
  Settle();
  ASSERT_TRUE(world.bgp.Announce({Ip("10.0.3.1"), "rail0", 0, world.Tenant("ns-b")}, {}));
  Audit();
  EXPECT_THAT(*world.bgp.Announced({}),
              ElementsAre(frr::Announcement{Ip("10.0.3.1"), "rail0", 0, world.Tenant("ns-a")}));
}

TEST_F(RepairTest, WithdrawsWhatNoAttachmentHasAndLeavesForeignNetworks) {
  Settle();
  ASSERT_TRUE(world.bgp.Announce({Ip("10.0.3.77"), "rail0", 0, world.Tenant("ns-a")}, {}));
  world.bgp.AddForeignNetwork(Ip("192.0.2.1"));
  Audit();
  EXPECT_THAT(*world.bgp.Announced({}), SizeIs(2)) << "it may be of a pod that the record has lost";
  world.passed += std::chrono::seconds(61);
  Audit();
  EXPECT_THAT(*world.bgp.Announced({}), SizeIs(1));
  EXPECT_THAT(world.bgp.foreign_networks(), ElementsAre(Ip("192.0.2.1")));
}

TEST_F(RepairTest, AnnouncesAgainWhoseRouteMapSomebodyHasEdited) {
  Settle();
  ASSERT_TRUE(world.bgp.Announce({Ip("10.0.3.77"), "rail0", 0, world.Tenant("ns-a")}, {}));
  world.bgp.EditRouteMapOf(Ip("10.0.3.1"));
  world.bgp.EditRouteMapOf(Ip("10.0.3.77"));  // of no attachment
  Audit();
  world.passed += std::chrono::seconds(61);
  Audit();
  EXPECT_THAT(*world.bgp.Announced({}),
              ElementsAre(frr::Announcement{Ip("10.0.3.1"), "rail0", 0, world.Tenant("ns-a")}));
}

TEST_F(RepairTest, AnAddressThatBgpdRefusesKeepsNoOtherFromTheLeaf) {
  Settle();
  Attach(world.MakePod("p2", "ns-a", "vf1"), "10.0.3.2");
  Attach(world.MakePod("p3", "ns-a", "vf2"), "10.0.3.3");
  world.bgp.Restart();
  world.bgp.AddForeignNetwork(Ip("10.0.3.1"));  // the operator's, read from its file
  for (int round = 0; round < 2; ++round) {
    Audit();
    EXPECT_THAT(*world.bgp.Announced({}),
                ElementsAre(frr::Announcement{Ip("10.0.3.2"), "rail0", 0, world.Tenant("ns-a")},
                            frr::Announcement{Ip("10.0.3.3"), "rail0", 0, world.Tenant("ns-a")}));
    EXPECT_THAT(Problems(), ElementsAre(AllOf(HasSubstr("bgp announcements"), HasSubstr("10.0.3.1/32"))));
    EXPECT_THAT(*world.bgp.Sessions({}), SizeIs(2));
  }
}

// Sessions.

TEST_F(RepairTest, ASessionOfABgpdThatDoesNotAnswerIsNotThere) {
  Settle();
  const auto states = [&] {
    std::vector<std::string> of_rails;
    for (const RailView& rail : raild->views.Current()->rails) of_rails.push_back(rail.seen.bgp_state());
    return of_rails;
  };
  ASSERT_THAT(states(), ElementsAre("Established", "Established"));
  world.faults.down = {Dependency::kBgp};
  raild->bgp.ConnectionsGone({});
  EXPECT_TRUE(raild->bgp.Poll());
  EXPECT_THAT(states(), ElementsAre("", ""));
  world.faults.down.clear();
  Audit();
  EXPECT_THAT(states(), ElementsAre("Established", "Established"));
  world.bgp.FailAll(Error{Code::kTransient, "bgpd hangs"});
  raild->bgp.ConnectionsGone({});
  EXPECT_TRUE(raild->bgp.Poll());
  EXPECT_THAT(states(), ElementsAre("", ""));
}

TEST_F(RepairTest, ASessionWhoseNeighborIsRemovedIsNotThereAndWhatItHasToldStays) {
  Settle();
  world.LearnRemote("10.0.9.1", "ns-a");
  raild->Poll();
  ASSERT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  world.bgp.RemoveNeighbor("br-rail0");
  raild->bgp.ConnectionsGone({});
  raild->Poll();
  EXPECT_EQ(raild->views.Current()->rails[0].seen.bgp_state(), "");
  EXPECT_EQ(raild->views.Current()->rails[1].seen.bgp_state(), "Established");
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
}

// bgpd forgets what the leaf has said with its next attempt, and never says how the kernel's connection has ended.
TEST_F(RepairTest, WhyASessionIsDownIsKeptAndChangesWithEachAttempt) {
  Settle();
  const auto shown = [&] { return raild->views.Current()->rails[0].seen.bgp_problem(); };
  const auto attempt = [&](uint32_t segments, uint64_t bytes, uint16_t port = 179) {
    raild->bgp.ConnectionsGone({{.interface = "br-rail0",
                                 .local_port = 40000,
                                 .remote_port = port,
                                 .segments_received = segments,
                                 .bytes_received = bytes}});
    raild->bgp.Poll();
  };
  EXPECT_EQ(shown(), "");
  attempt(9, 200);
  EXPECT_EQ(shown(), "");
  frr::Session down{.interface = "br-rail0",
                    .state = "Idle",
                    .peer = Ip("fe80::1"),
                    .notification = frr::Notification{2, 2, true, "OPEN Message Error/Bad Peer AS"},
                    .last_reset = "BGP Notification received"};
  world.bgp.EndSession(down);
  attempt(9, 127);
  EXPECT_THAT(shown(), HasSubstr("the leaf expects another AS"));
  down.notification.reset();
  down.last_reset = "Waiting for peer OPEN";
  world.bgp.EndSession(down);
  attempt(9, 127);
  EXPECT_THAT(shown(), HasSubstr("the leaf expects another AS")) << "bgpd has forgotten it";
  attempt(1, 0);
  EXPECT_THAT(shown(), HasSubstr("refuses TCP port 179"));
  attempt(0, 0, 40001);
  EXPECT_THAT(shown(), HasSubstr("refuses TCP port 179")) << "the leaf's attempt";
  attempt(0, 0);
  EXPECT_THAT(shown(), HasSubstr("does not answer TCP port 179"));
  attempt(3, 1);
  EXPECT_THAT(shown(), HasSubstr("ends it at once"));
  down.shut_down = true;
  world.bgp.EndSession(down);
  attempt(3, 0);
  EXPECT_THAT(shown(), HasSubstr("shut down in this node's bgpd"));
  world.bgp.SetSession("br-rail0", frr::kEstablished);
  attempt(9, 200);
  EXPECT_EQ(shown(), "");
  world.faults.down = {Dependency::kBgp};
  raild->bgp.ConnectionsGone({});
  raild->bgp.Poll();
  EXPECT_EQ(shown(), "bgpd does not answer");
}

}  // namespace
}  // namespace rail::engine
