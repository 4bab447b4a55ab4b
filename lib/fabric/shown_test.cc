// What rails and nodes show beside links: the same everywhere is one line.
#include <gmock/gmock.h>

#include "lib/fabric/testing/small_fleet.h"

namespace rail::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kNoon;
using ::testing::Pair;
using ::testing::SizeIs;
using testing::SmallFleet;
using ::testing::UnorderedElementsAre;

class Shown : public ::testing::Test {
 protected:
  void SpoilLossless(const std::string& node, int rail) {
    small_.RailOf(node, rail).set_lossless_known(true);
    small_.RailOf(node, rail).set_lossless_ok(false);
    small_.RailOf(node, rail).add_lossless_problems("PFC is off for priority 3");
  }
  void FailPart(const std::string& node, const std::string& name) {
    v1::HealthPart& part = *small_.Of(node).mutable_node()->add_health();
    part.set_part(name);
    part.set_problem("write state.db: no space left on device");
  }
  std::vector<std::string> Told() {
    small_.Tell(kNoon);
    return small_.Told();
  }

  SmallFleet small_;
};

TEST_F(Shown, OneRailIsOneRail) {
  SpoilLossless("n2", 1);
  ASSERT_THAT(Told(), ElementsAre("lossless-differs n2/rail1"));
  EXPECT_EQ(small_.Found().front().what, "n2/rail1: PFC is off for priority 3");
}

TEST_F(Shown, AllRailsOfANodeAreTheNode) {
  for (int rail = 0; rail < 4; ++rail) SpoilLossless("n2", rail);
  EXPECT_THAT(Told(), ElementsAre("lossless-differs n2"));
}

TEST_F(Shown, TheSameOnAllRailsOfAllNodesIsOneLine) {
  for (const std::string& node : small_.Names()) {
    for (int rail = 0; rail < 4; ++rail) SpoilLossless(node, rail);
  }
  ASSERT_THAT(Told(), ElementsAre("lossless-differs fleet"));
  EXPECT_THAT(small_.Found().front().what, HasSubstr("all 8 nodes (a rollout, or one setting of all)"));
  EXPECT_THAT(small_.Found().front().follows, ElementsAre(Pair("lossless-differs", 32U)));
}

TEST_F(Shown, TheSameOnAllNodesOfOneVersionIsThatVersion) {
  for (const char* node : {"n2", "n6"}) {
    small_.Of(node).mutable_node()->set_version("0.2.0");
    FailPart(node, "kubelet");
  }
  ASSERT_THAT(Told(), ElementsAre("part-failing raild 0.2.0: kubelet"));
  EXPECT_THAT(small_.Found().front().nodes, ElementsAre("n2", "n6"));
}

TEST_F(Shown, TheSameOnAllNodesOfOneUnitIsTheUnit) {
  for (const char* node : {"n5", "n6", "n7", "n8"}) FailPart(node, "kubelet");
  EXPECT_THAT(Told(), ElementsAre("part-failing su-2: kubelet"));
}

TEST_F(Shown, ManyNodesWithoutMoreInCommonAreOneLine) {
  for (const char* node : {"n1", "n2", "n3", "n5", "n6"}) FailPart(node, "kubelet");
  ASSERT_THAT(Told(), ElementsAre("part-failing several nodes: kubelet"));
  EXPECT_THAT(small_.Found().front().what,
              HasSubstr("5 of 8 nodes, as a rollout that has not reached all (n1, n2, n3 and 2 more)"));
  EXPECT_THAT(small_.Found().front().nodes, SizeIs(5));
}

TEST_F(Shown, TwoNodesAreTwoLines) {
  for (const char* node : {"n1", "n6"}) FailPart(node, "kubelet");
  EXPECT_THAT(Told(), ElementsAre("part-failing n1: kubelet", "part-failing n6: kubelet"));
}

TEST_F(Shown, PartsThatFailDifferentlyAreNotOneThing) {
  FailPart("n1", "kubelet");
  FailPart("n2", "state");
  FailPart("n3", "rates");
  EXPECT_THAT(Told(),
              ElementsAre("part-failing n1: kubelet", "part-failing n2: state", "part-failing n3: rates"));
}

TEST_F(Shown, OfANodeTheFirstPartIsTold) {
  FailPart("n1", "state");
  FailPart("n1", "writing the record");
  EXPECT_THAT(Told(), ElementsAre("part-failing n1: state"));
}

TEST_F(Shown, OthersRulesAreCritical) {
  small_.RailOf("n4", 0).set_state(v1::Rail::FOREIGN_FLOWS);
  small_.RailOf("n4", 0).set_foreign_flows(3);
  ASSERT_THAT(Told(), ElementsAre("rail-foreign-flows n4/rail0"));
  EXPECT_EQ(small_.Found().front().kind->severity, v1::Finding::CRITICAL);
  EXPECT_EQ(small_.Found().front().what, "n4/rail0: 3 of the bridge's rules are not RailCNI's");
}

TEST_F(Shown, ALeafThatStripsCommunitiesIsTheLeaf) {
  for (const char* node : {"n5", "n6", "n7", "n8"}) small_.RailOf(node, 2).set_stripped(1);
  EXPECT_THAT(Told(), ElementsAre("leaf-strips-communities leaf6"));
}

TEST_F(Shown, PodsWithoutRulesFollowFromABridgeThatIsGone) {
  small_.RailOf("n1", 0).set_state(v1::Rail::NO_BRIDGE);
  small_.AttachmentOf("n1", 0, 0).set_rules(v1::Attachment::RULES_MISSING);
  ASSERT_THAT(Told(), ElementsAre("rail-without-bridge n1/rail0"));
  EXPECT_THAT(small_.Found().front().follows,
              UnorderedElementsAre(Pair("pods-without-rules", 1U), Pair("attachments", 1U)));
}

TEST_F(Shown, PodsWithoutRulesOrDevicesAreToldByThemselves) {
  small_.AttachmentOf("n1", 0, 0).set_rules(v1::Attachment::RULES_MISSING);
  small_.AttachmentOf("n2", 0, 0).set_state(v1::Attachment::NO_DEVICE);
  small_.AttachmentOf("n3", 0, 0).set_state(v1::Attachment::PENDING);
  EXPECT_THAT(Told(), ElementsAre("pods-without-device n2/rail0", "pods-without-rules n1/rail0",
                                  "undo-pending n3/rail0"));
}

TEST_F(Shown, DevicesRatesOwnersAndRules) {
  small_.RailOf("n1", 0).set_offers_devices(true);
  small_.RailOf("n1", 0).set_devices(8);
  small_.RailOf("n1", 0).set_devices_healthy(7);
  small_.RailOf("n1", 0).set_device_problem("0000:3b:00.2: no carrier");
  small_.RailOf("n2", 0).set_rates_known(true);
  small_.RailOf("n3", 0).add_other_owners()->set_driver("dra.net");
  small_.RailOf("n4", 0).set_state(v1::Rail::RULES_DIFFER);
  small_.RailOf("n5", 0).set_state(v1::Rail::UNSEEN);
  small_.RailOf("n6", 0).set_state(v1::Rail::RECORD_LOST);
  EXPECT_THAT(Told(), UnorderedElementsAre("devices-unhealthy n1/rail0", "rates-refused n2/rail0",
                                           "vf-of-two-owners n3/rail0", "rail-rules-differ n4/rail0",
                                           "rail-unseen n5/rail0", "rail-record-lost n6/rail0"));
}

TEST_F(Shown, TheApiServerThatIsAwayIsOneLine) {
  for (const std::string& node : small_.Names()) {
    small_.Of(node).mutable_tenant_list()->set_known(true);
    small_.Of(node).mutable_tenant_list()->mutable_stale_since()->set_seconds(kNoon / 1000);
  }
  EXPECT_THAT(Told(), ElementsAre("api-server-away fleet"));
}

TEST_F(Shown, ANodeWithoutTenantsOrWithoutBmp) {
  small_.Of("n1").mutable_tenant_list();
  small_.Of("n2").mutable_node()->set_bmp_up(false);
  EXPECT_THAT(Told(), UnorderedElementsAre("tenants-not-known n1", "bmp-down n2"));
}

TEST_F(Shown, WhatANodeThatIsAwayShowedIsNotTold) {
  SpoilLossless("n2", 1);
  small_.Tell(kNoon);
  small_.fleet().SetAway("n2", kNoon, "timed out");
  EXPECT_THAT(small_.Told(), ElementsAre("nodes-away n2"));
}

}  // namespace
}  // namespace rail::fabric
