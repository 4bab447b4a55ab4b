// raild in mode `vrf`: instances of bgpd, VRFs and ports follow the tenants; one address of two tenants is two remotes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/testing/repair_fixture.h"
#include "lib/frr/bmp/bytes.h"

namespace rail::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PodSpec;
using testing::Push;

class VrfRepairTest : public testing::RepairTest {
 protected:
  VrfRepairTest() {
    world.config.tenancy.mode = config::TenancyMode::kVrf;
    world.config.tenancy.tenants = {{"red", {"ns-a"}}, {"blue", {"ns-b"}}};
    world.config.tenancy.vlans.of_tenant = {{"red", 101}, {"blue", 102}};
    world.bgp.Restart();
    red = world.MakePod("p1", "ns-a", "vf0");
    blue = world.MakePod("p2", "ns-b", "vf1");
    raild = world.StartRaild(std::chrono::hours(1));
    raild->Audit();
  }
  void AttachBoth() {
    Attach(red, "10.0.3.1");
    Attach(blue, "10.0.3.1");
    Everything();
  }
  void Detach(const PodSpec& pod_spec) {
    const auto context = VerbContext::Open(world.deps());
    ASSERT_TRUE(context);
    ASSERT_TRUE(UndoAttachment(**context, {pod_spec.rail, pod_spec.container, pod_spec.ifname}, ""));
  }
  void Everything() {
    raild->Audit();
    for (Push* push : {&to_red, &to_blue}) push->Deliver(raild->bgp, true);
    raild->bgp.Poll();
    raild->the_switch.Learned();
  }
  void Learn(const char* vrf, const std::string& pod_namespace, const std::string& address) {
    const auto [high, low] = tenancy::TenantCommunities(world.config.bgp.community_asn, Id(pod_namespace));
    const std::string port = std::string("rcvlan-") + (vrf + 8);  // of "railcni-0-101"
    world.bgp.Instance(vrf).Learn(*IpPrefix::Parse(address + "/32"),
                                  {high, low, tenancy::RailCommunity(world.config.bgp.community_asn, 0)},
                                  port);
  }
  tenancy::TenantId Id(const std::string& pod_namespace) {
    return tenancy::TenantOf(world.config, pod_namespace, [&] { return world.tenants; })->id;
  }
  const RemoteTable& Table() { return raild->node_status.learned()->remotes; }
  size_t Remotes(const std::string& pod_namespace) {
    const auto found = Table().by_tenant.find(Id(pod_namespace));
    return found == Table().by_tenant.end() ? 0 : found->second->size();
  }
  bool HasLink(const char* name) { return world.host.GetLink(name).has_value(); }

  PodSpec red, blue;
  Push to_red{world.bgp.Instance("railcni-0-101"), "railcni-0-101"};
  Push to_blue{world.bgp.Instance("railcni-0-102"), "railcni-0-102"};
};

TEST_F(VrfRepairTest, EachTenantHasItsInstanceWithItsPods) {
  EXPECT_THAT(*world.bgp.OurInstances({}), IsEmpty()) << "no tenant has a pod yet";
  AttachBoth();
  EXPECT_THAT(*world.bgp.OurInstances({}), ElementsAre("railcni-0-101", "railcni-0-102"));
  EXPECT_THAT(*world.bgp.Instance("railcni-0-101").Announced({}),
              ElementsAre(frr::Announcement{Ip("10.0.3.1"), "rail0", 0, Id("ns-a")}));
  EXPECT_THAT(*world.bgp.Instance("railcni-0-102").Announced({}),
              ElementsAre(frr::Announcement{Ip("10.0.3.1"), "rail0", 0, Id("ns-b")}));
  EXPECT_THAT(*world.bgp.Announced({}), IsEmpty());
  EXPECT_EQ(world.bgp.Instance("railcni-0-101").feed_address(), Ip("127.1.0.101"));
  EXPECT_TRUE(raild->node_status.learned()->sessions.contains("rcvlan-0-101"));
}

TEST_F(VrfRepairTest, BgpdThatHasForgottenAllIsMadeRight) {
  AttachBoth();
  world.bgp.Restart();
  raild->Audit();
  EXPECT_THAT(*world.bgp.Instance("railcni-0-101").Announced({}), ::testing::SizeIs(1));
  EXPECT_THAT(*world.bgp.Instance("railcni-0-102").Announced({}), ::testing::SizeIs(1));
  EXPECT_EQ(world.bgp.Instance("railcni-0-102").feed_address(), Ip("127.1.0.102"));
}

TEST_F(VrfRepairTest, AnInstanceThatIsBrokenKeepsNoOtherFromItsAnnouncements) {
  AttachBoth();
  world.bgp.Restart();
  world.bgp.Instance("railcni-0-101").StartAs(65000);
  raild->Audit();
  EXPECT_THAT(Problems(), ::testing::Contains(HasSubstr("bgp instance: another AS")));
  EXPECT_THAT(world.bgp.Instance("railcni-0-101").SessionsNow(), IsEmpty())
      << "it would have nothing to tell";
  EXPECT_THAT(*world.bgp.Instance("railcni-0-102").Announced({}), ::testing::SizeIs(1));
  EXPECT_THAT(world.bgp.Instance("railcni-0-102").SessionsNow(), ::testing::SizeIs(1));
  Detach(blue);
  ASSERT_TRUE(world.bgp.Instance("railcni-0-102").Announce({Ip("10.0.3.1"), "rail0", 0, Id("ns-b")}, {}));
  raild->bgp.Audit();
  world.passed += std::chrono::seconds(61);
  raild->bgp.Audit();
  EXPECT_THAT(*world.bgp.Instance("railcni-0-102").Announced({}), IsEmpty()) << "nor from its withdrawals";
}

// The leaf may have one link-local address in all its VRFs.
TEST_F(VrfRepairTest, SessionsOfTwoTenantsAreNotAlike) {
  AttachBoth();
  raild->bgp.Audit();
  const auto sessions = *world.bgp.Sessions({});
  ASSERT_EQ(sessions.size(), 2U);
  ASSERT_EQ(sessions[0].peer, sessions[1].peer);
  bmp::Message up;
  up.kind = bmp::Message::Kind::kPeerUp;
  up.peer = {0, *sessions[0].peer, 4200010001, 1};
  for (const uint16_t port :
       {uint16_t{1}, uint16_t{2}}) {  // it came back, and nobody has said that it was down
    up.local_port = port;
    raild->bgp.Pushed(up, "railcni-0-101");
  }
  world.passed += std::chrono::seconds(1);
  raild->bgp.Poll();
  raild->bgp.Tell();
  EXPECT_FALSE(raild->node_status.learned()->bmp_ambiguous);
}

// Its tenant is undone while bgpd is away, and then the tenant's next pod has the address.
TEST_F(VrfRepairTest, AnUndoThatComesLateWithdrawsNothingOfTheNextPod) {
  AttachBoth();
  const auto undo = [&] {
    const auto context = VerbContext::Open(world.deps());
    return context ? UndoAttachment(**context, {red.rail, red.container, red.ifname}, "")
                   : tl::make_unexpected(context.error());
  };
  world.faults.down = {testing::Dependency::kBgp};
  ASSERT_TRUE(undo());
  world.faults.down.clear();
  ASSERT_THAT(world.Pending(red), ElementsAre(step::kAnnounce));
  ASSERT_EQ(world.Attachment(red).tenant, "");
  Attach(world.MakePod("p3", "ns-a", "vf2"), "10.0.3.1");
  ASSERT_TRUE(undo());
  EXPECT_FALSE(world.FindAttachment(red));
  EXPECT_THAT(*world.bgp.Instance("railcni-0-101").Announced({}), ::testing::SizeIs(1));
}

// raild withdraws what nobody could reach (a lost device, no carrier). Only before a new session all has to be there.
TEST_F(VrfRepairTest, AnAddAnnouncesNothingOfOthersBesideASessionThatIsThere) {
  AttachBoth();
  auto& instance = world.bgp.Instance("railcni-0-101");
  ASSERT_TRUE(instance.Withdraw(Ip("10.0.3.1"), {}));
  Attach(world.MakePod("p3", "ns-a", "vf2"), "10.0.3.5");
  EXPECT_THAT(*instance.Announced({}),
              ElementsAre(frr::Announcement{Ip("10.0.3.5"), "rail0", 0, Id("ns-a")}));
  instance.RemoveNeighbor("rcvlan-0-101");
  Attach(world.MakePod("p4", "ns-a", "vf3"), "10.0.3.6");
  EXPECT_THAT(*instance.Announced({}), ::testing::SizeIs(3));
}

TEST_F(VrfRepairTest, OneAddressOfTwoTenantsIsTwoRemotes) {
  AttachBoth();
  Learn("railcni-0-101", "ns-a", "10.0.9.1");
  Learn("railcni-0-102", "ns-b", "10.0.9.1");
  Everything();
  EXPECT_EQ(Remotes("ns-a"), 1U);
  EXPECT_EQ(Remotes("ns-b"), 1U);
  EXPECT_EQ(Table().contested, 0U);
  EXPECT_EQ(Table().known, 2U);
  world.bgp.Instance("railcni-0-101").Forget(*IpPrefix::Parse("10.0.9.1/32"), "rcvlan-0-101");
  Everything();
  EXPECT_EQ(Remotes("ns-a"), 0U);
  EXPECT_EQ(Remotes("ns-b"), 1U);
}

TEST_F(VrfRepairTest, AnotherTenantsRoutesInATenantsVrfAreNotBelieved) {
  AttachBoth();
  Learn("railcni-0-101", "ns-b", "10.0.9.1");
  Everything();
  EXPECT_EQ(Remotes("ns-a") + Remotes("ns-b"), 0U);
  EXPECT_THAT(Problems(), ::testing::Contains(HasSubstr("of another tenant in VLAN 101")));
}

TEST_F(VrfRepairTest, WhatIsAnnouncedForOneOfTwoTenantsWithOneAddressIsSaidOfItAlone) {
  AttachBoth();
  Learn("railcni-0-101", "ns-a", "10.0.3.1");
  world.bgp.Instance("railcni-0-102").Learn(*IpPrefix::Parse("10.0.3.1/32"), {}, "rcvlan-0-102");
  Everything();
  world.passed += kContestedGrace;
  raild->Poll();
  const auto view = raild->views.Current();
  ASSERT_EQ(view->attachments.size(), 2U);
  for (const AttachmentView& shown : view->attachments) {
    ASSERT_THAT(shown.elsewhere, ::testing::SizeIs(1)) << shown.attachment.tenant;
    const bool is_blue = shown.attachment.tenant == "blue";
    EXPECT_EQ(shown.elsewhere[0].other_tenant, is_blue) << "nobody says of red's that it has no tenant";
    EXPECT_EQ(shown.elsewhere[0].by.find("without a tenant") != std::string::npos, is_blue);
  }
  EXPECT_EQ(view->remote_counts.contested, 1U);
}

TEST_F(VrfRepairTest, WhatTenantsHaveLearnedIsPutTogetherOnlyWhenThereAreNews) {
  AttachBoth();
  RecordReader record(world.record);
  const Deadline now = world.deps().now();
  TenantRemotes remotes(world.config, now);
  remotes.SetInstances(InstancesOf(world.config, **record.Read()), now);
  std::map<std::string, frr::Session> sessions;
  const auto seen = *world.bgp.Sessions({});
  for (const frr::Session& session : seen) sessions[session.interface] = session;
  remotes.SetLeaves(sessions);
  remotes.FeedOpened("railcni-0-101", now, false);
  const RemoteTable before = remotes.table();
  (void)remotes.TakeNews();
  const RemoteTable joined = remotes.table();
  EXPECT_EQ(joined.doubts, before.doubts);
  EXPECT_EQ(joined.seats, before.seats);
  bmp::Message message;
  message.kind = bmp::Message::Kind::kPeerUp;
  const frr::Session& session = sessions.at("rcvlan-0-101");
  message.peer = {0, *session.peer, session.leaf->asn, bmp::Bytes(session.leaf->router_id.bytes()).U32()};
  remotes.Take("railcni-0-101", message, now, 0);
  message.kind = bmp::Message::Kind::kRoutes;
  message.update.announced = {Ip("10.0.9.9")};
  remotes.Take("railcni-0-101", message, now, 0);
  EXPECT_NE(remotes.table().doubts, joined.doubts) << "a route without a tenant";
  EXPECT_EQ(remotes.table().seats, joined.seats);
  EXPECT_TRUE(remotes.TakeNews());
  EXPECT_NE(remotes.table().doubts, joined.doubts);
}

TEST_F(VrfRepairTest, WhatIsAnnouncedWithoutATenantIsSaidInItsVrfAlone) {
  AttachBoth();
  world.bgp.Instance("railcni-0-102").Learn(*IpPrefix::Parse("10.0.9.9/32"), {}, "rcvlan-0-102");
  Everything();
  const auto view = raild->views.Current();
  EXPECT_EQ(view->without_tenant(Id("ns-a"), Ip("10.0.9.9")), "");
  EXPECT_NE(view->without_tenant(Id("ns-b"), Ip("10.0.9.9")), "");
}

TEST_F(VrfRepairTest, OneTenantsFeedSaysNothingOfAnothers) {
  AttachBoth();
  Learn("railcni-0-101", "ns-a", "10.0.9.1");
  Learn("railcni-0-102", "ns-b", "10.0.9.2");
  Everything();
  raild->bgp.FeedClosed("the test", "railcni-0-101");
  world.passed += 2 * Remotes::kStale;
  raild->bgp.Poll();
  EXPECT_EQ(Remotes("ns-a"), 1U) << "nobody can say what is left of it";
  EXPECT_EQ(Remotes("ns-b"), 1U);
}

TEST_F(VrfRepairTest, WhatATenantNeededStaysForSomeTimeAndGoesThen) {
  AttachBoth();
  Learn("railcni-0-102", "ns-b", "10.0.9.2");
  Everything();
  ASSERT_EQ(Remotes("ns-b"), 1U);
  Detach(blue);
  Everything();
  EXPECT_TRUE(HasLink("railcni-0-102") && HasLink("rcvlan-0-102"));
  EXPECT_THAT(*world.bgp.OurInstances({}), ElementsAre("railcni-0-101", "railcni-0-102"));
  EXPECT_EQ(Remotes("ns-b"), 0U) << "nobody here may talk to it";
  ASSERT_TRUE(raild->the_switch.next_retry());
  world.passed += kTenantKept;
  EXPECT_TRUE(raild->bgp.InstancesChanged());
  Everything();
  EXPECT_THAT(*world.bgp.OurInstances({}), ElementsAre("railcni-0-101"));
  EXPECT_FALSE(HasLink("railcni-0-102") || HasLink("rcvlan-0-102"));
  EXPECT_TRUE(HasLink("railcni-0-101") && HasLink("rcvlan-0-101"));
  // It comes again.
  blue = world.MakePod("p3", "ns-b", "vf1");
  Attach(blue, "10.0.3.9");
  EXPECT_TRUE(HasLink("railcni-0-102") && HasLink("rcvlan-0-102")) << "the ADD itself makes it";
  EXPECT_THAT(*world.bgp.Instance("railcni-0-102").Announced({}), ::testing::SizeIs(1));
}

// While it cannot go, raild must not try without end: each of its tries is a whole round of the rail.
TEST_F(VrfRepairTest, WhatIsDueAndCannotGoWaitsForTheSwitch) {
  AttachBoth();
  Detach(blue);
  Everything();
  EXPECT_FALSE(raild->the_switch.broken()) << "what waits for its time is right";
  world.passed += kTenantKept;
  world.faults.down = {testing::Dependency::kOvsdb};
  raild->the_switch.Retry();
  EXPECT_TRUE(raild->the_switch.broken());
  const auto next = raild->the_switch.next_retry();
  ASSERT_TRUE(next);
  int calls = 0;
  world.faults.before = [&](testing::Dependency dependency, std::string_view) {
    calls += dependency == testing::Dependency::kNetlink ? 1 : 0;
  };
  raild->the_switch.Retry();
  EXPECT_TRUE(calls == 0 || Clock::now() >= *next) << "the rail's own retry is not due";
  world.faults.down.clear();
  world.faults.before = nullptr;
  raild->the_switch.Audit();
  EXPECT_FALSE(HasLink("railcni-0-102") || HasLink("rcvlan-0-102"));
  EXPECT_FALSE(raild->the_switch.broken());
}

TEST_F(VrfRepairTest, WhatIsDueWhileAPodJoinsIsLookedAtLater) {
  AttachBoth();
  Detach(blue);
  Everything();
  world.passed += kTenantKept;
  {
    const auto joining = world.LockTenants("rail0", FileLock::Kind::kShared);
    ASSERT_TRUE(joining);
    raild->the_switch.Retry();
    EXPECT_TRUE(HasLink("railcni-0-102"));
    ASSERT_TRUE(raild->the_switch.next_retry());
    EXPECT_GT(*raild->the_switch.next_retry(), world.deps().now() + Unused::kAgain / 2);
  }
  world.passed += Unused::kAgain;
  raild->the_switch.Retry();
  EXPECT_FALSE(HasLink("railcni-0-102"));
}

TEST_F(VrfRepairTest, AVrfThatIsNotOursIsNotWaitedFor) {
  ASSERT_TRUE(world.host.AddVrf("railcni-0-103", 7));
  Everything();
  EXPECT_FALSE(raild->the_switch.next_retry());
  EXPECT_TRUE(HasLink("railcni-0-103"));
}

TEST_F(VrfRepairTest, ATenantThatComesBackIsLearnedAnew) {
  AttachBoth();
  Learn("railcni-0-102", "ns-b", "10.0.9.2");
  Everything();
  Detach(blue);
  Everything();
  ASSERT_EQ(Remotes("ns-b"), 0U);
  blue = world.MakePod("p3", "ns-b", "vf1");
  Attach(blue, "10.0.3.9");
  raild->Audit();
  EXPECT_FALSE(raild->bgp.feed_to_close("railcni-0-102").empty())
      << "bgpd has told it before, over the connection that is open";
  Everything();
  EXPECT_EQ(Remotes("ns-b"), 1U);
  EXPECT_EQ(to_blue.connections(), 2);
  EXPECT_EQ(to_red.connections(), 1);
}

TEST_F(VrfRepairTest, WhatWasWrongOfALinkIsRightWhenItsTenantHasLeft) {
  for (const Part part : {Part::kVlanSysctls, Part::kTenantLinks})
    raild->node_status.Note({part, "rail0"}, Fail(Code::kPermission, "read-only"));
  raild->the_switch.Audit();
  EXPECT_THAT(Problems(), ::testing::Not(::testing::Contains(HasSubstr("read-only"))));
}

TEST_F(VrfRepairTest, WhereNoTenantIsAllIsLearned) {
  EXPECT_TRUE(raild->node_status.learned()->complete);
}

TEST_F(VrfRepairTest, WhatSomebodyRemovesComesBack) {
  AttachBoth();
  world.host.RemoveLink("railcni-0-101");
  ASSERT_TRUE(world.ovsdb.DeletePort("br-rail0", "rcvlan-0-102", {}, ovs::Ovsdb::Wait::kClosed, {}));
  ASSERT_TRUE(world.bgp.RemoveInstance("railcni-0-101", {}));
  Everything();
  EXPECT_TRUE(HasLink("railcni-0-101") && HasLink("rcvlan-0-102"));
  EXPECT_THAT(*world.bgp.Instance("railcni-0-101").Announced({}), ::testing::SizeIs(1));
}

TEST_F(VrfRepairTest, ATenantThatHasLeftTheRecordIsAnOrphan) {
  AttachBoth();
  ASSERT_TRUE(world.bgp.Instance("railcni-0-102").Announce({Ip("10.0.3.77"), "rail0", 0, Id("ns-b")}, {}));
  Everything();
  EXPECT_THAT(*world.bgp.Instance("railcni-0-102").Announced({}), ::testing::SizeIs(2));
  world.passed += std::chrono::seconds(61);
  Everything();
  EXPECT_THAT(*world.bgp.Instance("railcni-0-102").Announced({}), ::testing::SizeIs(1));
}

}  // namespace
}  // namespace rail::engine
