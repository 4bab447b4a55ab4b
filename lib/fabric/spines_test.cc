// Leaves that pass on their own nodes' addresses alone.
#include <gmock/gmock.h>

#include "lib/fabric/testing/small_fleet.h"

namespace rail::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kNoon;
using testing::SmallFleet;

// Three units of two nodes with four rails: leaf0 to leaf3, leaf4 to leaf7, leaf8 to leaf11.
class Spines : public ::testing::Test {
 protected:
  // The leaf passes on what its two nodes announce, and nothing more; `returns`: a node's own, too.
  void Deafen(const std::vector<std::string>& nodes, const std::vector<int>& rails, bool returns = true) {
    for (const std::string& node : nodes) {
      for (const int rail : rails) small_.RailOf(node, rail).set_prefixes_received(returns ? 2 : 1);
    }
  }
  std::vector<std::string> Told() {
    small_.Tell(kNoon);
    return small_.Told();
  }

  SmallFleet small_{{.units = 3, .nodes = 2, .rails = 4}};
};

TEST_F(Spines, OneLeafIsThatLeafsLinks) {
  Deafen({"n3", "n4"}, {1});
  ASSERT_THAT(Told(), ElementsAre("leaf-without-spines leaf5"));
  EXPECT_THAT(small_.Found().front().nodes, ElementsAre("n3", "n4"));
}

TEST_F(Spines, OneLeafThatReturnsNothingIsFoundToo) {
  Deafen({"n3", "n4"}, {1}, false);
  EXPECT_THAT(Told(), ElementsAre("leaf-without-spines leaf5"));
}

TEST_F(Spines, HalfOfAUnitIsASpine) {
  Deafen({"n3", "n4"}, {0, 2});
  ASSERT_THAT(Told(), ElementsAre("spine-down su-2"));
  EXPECT_THAT(small_.Found().front().what, HasSubstr("leaf4, leaf6"));
}

TEST_F(Spines, AllOfAUnitAreItsSpines) {
  Deafen({"n3", "n4"}, {0, 1, 2, 3});
  EXPECT_THAT(Told(), ElementsAre("spines-down su-2"));
}

TEST_F(Spines, OneRailOfAllUnitsIsThatRailsSpines) {
  Deafen(small_.Names(), {2});
  EXPECT_THAT(Told(), ElementsAre("spines-down rail2"));
}

TEST_F(Spines, ALeafOfWhichOneNodeHearsMoreIsNotAccused) {
  Deafen({"n3"}, {1});
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(Spines, LeavesThatDoNotReturnANodesOwnAreHealthy) {
  for (const std::string& node : small_.Names()) {
    for (int rail = 0; rail < 4; ++rail) small_.RailOf(node, rail).set_prefixes_received(5);
  }
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(Spines, WherePodsAreOnOneLeafAloneNothingIsToBeHeard) {
  for (const char* node : {"n1", "n2", "n5", "n6"}) small_.Of(node).clear_attachments();
  small_.CountAnew();
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(Spines, PodsThatAreNotAnnouncedAreNotExpected) {
  for (const char* node : {"n1", "n2"}) {
    for (int rail = 0; rail < 4; ++rail) small_.AttachmentOf(node, 0, rail).set_announced(false);
  }
  small_.CountAnew();
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(Spines, WhatADeafLeafIsBehindIsExpectedOfNobody) {
  Deafen({"n3", "n4"}, {1});
  for (const std::string& node : small_.Names()) {
    v1::LearnedCounts::OfTenant& of = *small_.Of(node).mutable_learned()->mutable_of_tenants(0);
    of.set_remotes(of.remotes() - (node == "n3" || node == "n4" ? 4 : 2));
  }
  EXPECT_THAT(Told(), ElementsAre("leaf-without-spines leaf5"));
}

TEST_F(Spines, ALeafThatStripsCommunitiesIsNotDeafBesides) {
  Deafen({"n3", "n4"}, {1});
  for (const char* node : {"n3", "n4"}) small_.RailOf(node, 1).set_stripped(1);
  for (const std::string& node : small_.Names()) {
    v1::LearnedCounts::OfTenant& of = *small_.Of(node).mutable_learned()->mutable_of_tenants(0);
    of.set_remotes(of.remotes() - (node == "n3" || node == "n4" ? 4 : 2));
  }
  EXPECT_THAT(Told(), ElementsAre("leaf-strips-communities leaf5"));
}

}  // namespace
}  // namespace rail::fabric
