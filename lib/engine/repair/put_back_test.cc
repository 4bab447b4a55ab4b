// A NIC that is reset, or makes its VFs anew, under pods that live.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/repair/sweep.h"
#include "lib/engine/testing/repair_fixture.h"

namespace rail::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RepairTest;

class PutBackTest : public RepairTest {
 protected:
  std::vector<std::string> Announced() {
    std::vector<std::string> addresses;
    const auto announced = world.bgp.Announced({});
    for (const frr::Announcement& one : *announced) addresses.push_back(one.address.ToString());
    return addresses;
  }
  const AttachmentView& Shown() { return raild->views.Current()->attachments.front(); }
};

TEST_F(PutBackTest, ADeviceThatWasMadeAnewComesBackIntoItsPodAsItWas) {
  Settle();
  const MacAddress mac = world.Attachment(pod).mac;
  const uint64_t before = Repairs();
  world.devices.Reset("vf0");
  world.pods.RemoveLink(pod.identity, "net1");
  Audit();
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(Repairs(), before + 1);
  EXPECT_EQ(world.devices.Where("vf0"), pod.identity);
  EXPECT_EQ(world.devices.State("vf0")->mac, mac) << "rules and neighbours know the pod by it";
  EXPECT_EQ(world.devices.State("vf0")->representor_mtu, 4200U);
  EXPECT_TRUE(world.devices.State("vf0")->representor_up);
  const auto configured = world.pods.configured();
  ASSERT_EQ(configured.size(), 1U);
  EXPECT_EQ(configured.begin()->second.mtu, 4200U);
  EXPECT_THAT(configured.begin()->second.addresses, ElementsAre(Ip("10.0.3.1")));
  EXPECT_THAT(Announced(), ElementsAre("10.0.3.1"));
  world.EndNamespace(pod);
  raild = world.StartRaild(std::chrono::hours(0));
  Audit();
  EXPECT_THAT(world.FindAttachment(pod), ::testing::Eq(std::nullopt));
}

TEST_F(PutBackTest, APodWhoseDeviceTheNicHasNoMoreIsNotAnnouncedUntilItHas) {
  Settle();
  world.devices.Remove("vf0");
  Audit();  // the sweep sees it
  Audit();
  EXPECT_TRUE(world.FindAttachment(pod)) << "its pod lives";
  EXPECT_THAT(Problems(), ElementsAre(::testing::AllOf(
                              HasSubstr("devices of pods: pod ns-a/p1 net1 has lost its device vf0"),
                              HasSubstr("as soon as its NIC has it again"))));
  EXPECT_TRUE(Shown().device_lost);
  EXPECT_THAT(Announced(), IsEmpty());
  world.devices.Add("rail0", "vf0", "rep0");
  world.pods.RemoveLink(pod.identity, "net1");
  Audit();
  Audit();
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_FALSE(Shown().device_lost);
  EXPECT_EQ(world.devices.Where("vf0"), pod.identity);
  EXPECT_THAT(Announced(), ElementsAre("10.0.3.1"));
}

TEST_F(PutBackTest, WhatCannotBePutBackIsTakenBackAndTriedAgain) {
  Settle();
  world.devices.Reset("vf0");
  world.pods.RemoveLink(pod.identity, "net1");
  world.pods.FailOn("Configure", {Code::kExists, "another route to 0.0.0.0/0 is in the pod"});
  Audit();
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("another route to 0.0.0.0/0 is in the pod")));
  EXPECT_EQ(world.devices.Where("vf0"), std::nullopt) << "it is on the host, as its NIC made it";
  Audit();
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(world.devices.Where("vf0"), pod.identity);
}

TEST_F(PutBackTest, ADelThatComesMeanwhileWins) {
  Settle();
  world.devices.Reset("vf0");
  const state::Attachment seen = world.Attachment(pod);
  ASSERT_TRUE(world.record.SetPhase(seen.id, state::Phase::kDeleting));
  Connections connections(world.deps().openers(world.config), After(std::chrono::seconds(5)));
  Node node{world.config, world.record, connections};
  EXPECT_TRUE(PutDeviceBack(node, seen));
  EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
}

// The policy rules of another plugin's interface, its routes and its addresses are that plugin's.
TEST_F(PutBackTest, WhatAnotherPluginHasPlumbedIsReportedOnly) {
  Settle();
  state::Attachment attachment = world.Attachment(pod);
  attachment.adopted = true;
  ASSERT_TRUE(world.record.Put(attachment));
  world.devices.Reset("vf0");
  Audit();
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("another plugin has plumbed it")));
  EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
}

TEST_F(PutBackTest, TheRoutesThatIpamAskedForComeBackToo) {
  Settle();
  const state::Attachment attachment = world.Attachment(pod);
  cni::AddResult result;
  result.routes.push_back(
      {.destination = *IpPrefix::Parse("10.9.0.0/16"), .gateway = Ip("10.0.3.254"), .mtu = 4000});
  ASSERT_TRUE(world.record.RecordStep(attachment.id, kOvsProvider, step::kRoutes, RoutesDetail(result)));
  world.devices.Reset("vf0");
  world.pods.RemoveLink(pod.identity, "net1");
  Audit();
  ASSERT_EQ(world.pods.configured().size(), 1U);
  const podnet::Plan plan = world.pods.configured().begin()->second;
  ASSERT_EQ(plan.routes.size(), 1U);
  EXPECT_EQ(plan.routes[0].destination, *IpPrefix::Parse("10.9.0.0/16"));
  EXPECT_EQ(plan.routes[0].gateway, Ip("10.0.3.254"));
  EXPECT_EQ(plan.routes[0].mtu, 4000U);
}

}  // namespace
}  // namespace rail::engine
