// Whose fault rails without a way to their leaves are: the thing that is broken, once, and nothing healthy.
#include <gmock/gmock.h>

#include "lib/fabric/testing/small_fleet.h"

namespace rail::fabric {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kNoon;
using ::testing::Pair;
using ::testing::SizeIs;
using testing::SmallFleet;
using ::testing::UnorderedElementsAre;

// Two units of four nodes with four rails: n1 to n4 behind leaf0 to leaf3, n5 to n8 behind leaf4 to leaf7.
class Links : public ::testing::Test {
 protected:
  void CutAll(const std::vector<std::string>& nodes, const std::vector<int>& rails) {
    for (const std::string& node : nodes) {
      for (const int rail : rails) small_.Cut(node, rail);
    }
  }
  std::vector<std::string> Told() {
    small_.Tell(kNoon);
    return small_.Told();
  }

  SmallFleet small_;
};

TEST_F(Links, AHealthyFleetHasNoCause) {
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(Links, AllNodesOfALeafAreTheLeaf) {
  small_.Tell(kNoon - 60'000);
  CutAll({"n5", "n6", "n7", "n8"}, {1});
  small_.Tell(kNoon + 180'000);
  ASSERT_THAT(small_.Told(), ElementsAre("leaf-down leaf5"));
  const Cause& cause = small_.Found().front();
  EXPECT_EQ(cause.what, "leaf5 of rail1: 4 of 4 nodes have no session since 12:03 UTC; look at leaf5 first");
  EXPECT_EQ(cause.since_ms, kNoon + 180'000);
  EXPECT_THAT(cause.nodes, ElementsAre("n5", "n6", "n7", "n8"));
  EXPECT_THAT(cause.rails, ElementsAre("rail1"));
  EXPECT_THAT(cause.follows, UnorderedElementsAre(Pair("rail-without-session", 4U), Pair("attachments", 4U)));
}

TEST_F(Links, ALeafThatIsOffTakesTheCarriersToo) {
  CutAll({"n1", "n2", "n3", "n4"}, {0});
  for (const char* node : {"n1", "n2"}) small_.RailOf(node, 0).set_state(v1::Rail::NO_CARRIER);
  ASSERT_THAT(Told(), ElementsAre("leaf-down leaf0"));
  EXPECT_THAT(small_.Found().front().what, HasSubstr("no carrier or no session"));
}

TEST_F(Links, AllRailsOfANodeAreTheNode) {
  CutAll({"n3"}, {0, 1, 2, 3});
  ASSERT_THAT(Told(), ElementsAre("node-links-down n3"));
  EXPECT_EQ(small_.Found().front().what,
            "n3: all of its rails have no session; look at n3 first, not at cables");
}

TEST_F(Links, OneRailWithoutACarrierIsACable) {
  CutAll({"n2"}, {2});
  small_.RailOf("n2", 2).set_state(v1::Rail::NO_CARRIER);
  small_.RailOf("n2", 2).mutable_lldp()->set_port("swp7");
  ASSERT_THAT(Told(), ElementsAre("cable-down n2/rail2"));
  EXPECT_THAT(small_.Found().front().what, HasSubstr("port swp7 of leaf2"));
}

TEST_F(Links, OneRailWithoutASessionIsTheSession) {
  CutAll({"n2"}, {2});
  ASSERT_THAT(Told(), ElementsAre("session-down n2/rail2"));
  EXPECT_THAT(small_.Found().front().what, HasSubstr("waiting for peer OPEN"));
}

TEST_F(Links, AllRailsOfAUnitAreTheUnit) {
  CutAll({"n1", "n2", "n3", "n4"}, {0, 1, 2, 3});
  EXPECT_THAT(Told(), ElementsAre("unit-down su-1"));
}

TEST_F(Links, OneRailOfAllUnitsIsTheRail) {
  CutAll(small_.Names(), {3});
  EXPECT_THAT(Told(), ElementsAre("rail-down rail3"));
}

TEST_F(Links, EverythingIsTheFleet) {
  CutAll(small_.Names(), {0, 1, 2, 3});
  EXPECT_THAT(Told(), ElementsAre("fleet-down fleet"));
}

TEST_F(Links, ALeafAndANodeAtOnceAreTwoCauses) {
  CutAll({"n1", "n2", "n3", "n4"}, {0});
  CutAll({"n7"}, {0, 1, 2, 3});
  EXPECT_THAT(Told(), ElementsAre("leaf-down leaf0", "node-links-down n7"));
}

TEST_F(Links, WithOneGreenNodeItIsNotTheWholeLeaf) {
  CutAll({"n1", "n2", "n3"}, {0});
  ASSERT_THAT(Told(), ElementsAre("leaf-partly-down leaf0"));
  EXPECT_THAT(small_.Found().front().what, HasSubstr("3 of 4 nodes"));
  EXPECT_THAT(small_.Found().front().nodes, ElementsAre("n1", "n2", "n3"));
}

TEST_F(Links, TwoCablesOfALeafAreTwoCables) {
  CutAll({"n1", "n2"}, {0});
  EXPECT_THAT(Told(), ElementsAre("session-down n1/rail0", "session-down n2/rail0"));
}

TEST_F(Links, OfALeafWhoseOtherNodesAreAwayAllThatAreSeenDecide) {
  CutAll({"n1", "n2"}, {0});
  small_.Tell(kNoon);
  small_.fleet().SetAway("n3", kNoon, "timed out");
  small_.fleet().SetAway("n4", kNoon, "timed out");
  EXPECT_THAT(small_.Told(), UnorderedElementsAre("leaf-down leaf0", "nodes-away n3", "nodes-away n4"));
}

TEST_F(Links, ALeafThatNobodyHasHeardIsNamedByItsPlace) {
  CutAll({"n1", "n2", "n3", "n4"}, {0});
  for (const char* node : {"n1", "n2", "n3", "n4"}) small_.RailOf(node, 0).clear_leaf();
  EXPECT_THAT(Told(), ElementsAre("leaf-down the leaf of su-1 on rail0"));
}

TEST_F(Links, ARailThatHasNotHeardItsLeafIsBehindItsUnitsLeaf) {
  CutAll({"n1", "n2", "n3", "n4"}, {0});
  small_.RailOf("n1", 0).clear_leaf();
  EXPECT_THAT(Told(), ElementsAre("leaf-down leaf0"));
}

TEST_F(Links, WhatARailWithoutALinkBringsFollowsFromIt) {
  CutAll({"n1", "n2", "n3", "n4"}, {0});
  small_.RailOf("n1", 0).set_offers_devices(true);
  small_.RailOf("n1", 0).set_devices(4);
  v1::HealthPart& part = *small_.Of("n1").mutable_node()->add_health();
  part.set_part("leaf of rail rail0");
  part.set_rail("rail0");
  v1::HealthPart& of_node = *small_.Of("n1").mutable_node()->add_health();
  of_node.set_part("bgp sessions");
  ASSERT_THAT(Told(), ElementsAre("leaf-down leaf0"));
  EXPECT_THAT(small_.Found().front().follows,
              AllOf(Contains(Pair("devices-unhealthy", 1U)), Contains(Pair("part-failing", 2U))));
}

TEST_F(Links, ManyThatShareNothingAreOneLine) {
  SmallFleet wide({.units = 1, .nodes = 40, .rails = 2});
  for (int i = 1; i <= 17; ++i) wide.Cut("n" + std::to_string(i), i % 2);
  wide.Tell(kNoon);
  ASSERT_THAT(wide.Told(), ElementsAre("links-down several rails"));
  EXPECT_THAT(wide.Found().front().nodes, SizeIs(17));
}

TEST_F(Links, AFleetOfOneUnitHasNoUnitToBlame) {
  SmallFleet one({.units = 1, .nodes = 2, .rails = 2});
  for (const char* node : {"n1", "n2"}) {
    for (const int rail : {0, 1}) one.Cut(node, rail);
  }
  one.Tell(kNoon);
  EXPECT_THAT(one.Told(), ElementsAre("fleet-down fleet"));
}

}  // namespace
}  // namespace rail::fabric
