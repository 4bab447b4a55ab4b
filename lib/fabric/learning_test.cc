// Expected against seen: who announces what others have not learned.
#include <gmock/gmock.h>

#include "lib/fabric/testing/small_fleet.h"

namespace rail::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kNoon;
using ::testing::Pair;
using testing::SmallFleet;

// Three units of three nodes with four rails: a node has 4 addresses, a leaf 3, a unit 12, of 36.
class Learning : public ::testing::Test {
 protected:
  void Lack(const std::vector<std::string>& nodes, uint64_t addresses) {
    for (const std::string& node : nodes) {
      v1::LearnedCounts::OfTenant& of = *small_.Of(node).mutable_learned()->mutable_of_tenants(0);
      of.set_remotes(of.remotes() - addresses);
    }
  }
  std::vector<std::string> AllBut(std::initializer_list<std::string> some) const {
    std::vector<std::string> names = small_.Names();
    for (const std::string& each : some) std::erase(names, each);
    return names;
  }
  std::vector<std::string> Told() {
    small_.Tell(kNoon);
    return small_.Told();
  }

  SmallFleet small_{{.units = 3, .nodes = 3, .rails = 4}};
};

TEST_F(Learning, OneNodeThatLacksSomethingIsThatNode) {
  Lack({"n5"}, 4);
  ASSERT_THAT(Told(), ElementsAre("not-learned n5"));
  EXPECT_EQ(small_.Found().front().what, "n5 has not learned 4 of 32 addresses (tenant team-0)");
}

TEST_F(Learning, WhatNobodyHasLearnedIsWhoAnnouncesIt) {
  Lack(AllBut({"n5"}), 4);
  ASSERT_THAT(Told(), ElementsAre("not-announced-further n5"));
  EXPECT_THAT(small_.Found().front().nodes, ElementsAre("n5"));
  EXPECT_THAT(small_.Found().front().follows, ElementsAre(Pair("not-learned", 8U)));
}

TEST_F(Learning, TwoSuchNodesAreBothNamed) {
  Lack(AllBut({"n2", "n5"}), 8);
  Lack({"n2", "n5"}, 4);
  EXPECT_THAT(Told(), ElementsAre("not-announced-further n2", "not-announced-further n5"));
}

TEST_F(Learning, WhatNobodyHasLearnedFromBehindALeafIsTheLeaf) {
  Lack(AllBut({"n4", "n5", "n6"}), 3);
  // Counts cannot tell which of the unit's four leaves it is, as all have as much: none is accused.
  EXPECT_THAT(Told(), ElementsAre("not-learned su-1", "not-learned su-3"));
  // One of them has more than the others.
  for (int i = 0; i < 2; ++i) small_.AttachmentOf("n5", 0, 1).add_addresses("10.9.9." + std::to_string(i));
  for (int i = 0; i < 1; ++i) small_.AttachmentOf("n4", 0, 1).add_addresses("10.9.8." + std::to_string(i));
  small_.CountAnew();
  Lack(AllBut({"n4", "n5", "n6"}), 6);
  EXPECT_THAT(Told(), ElementsAre("not-announced-further leaf5"));
}

TEST_F(Learning, TwoUnitsThatLackEachOtherAreThatPair) {
  SmallFleet four({.units = 4, .nodes = 2, .rails = 2});
  for (const char* node : {"n1", "n2", "n5", "n6"})
    four.Of(node).mutable_learned()->mutable_of_tenants(0)->set_remotes(14 - 4);
  four.Tell(kNoon);
  ASSERT_THAT(four.Told(), ElementsAre("units-apart su-1 and su-3"));
  EXPECT_THAT(four.Found().front().nodes, ElementsAre("n1", "n2", "n5", "n6"));
}

TEST_F(Learning, OfThreeUnitsOneThatIsUnheardLooksLikeTwoThatAreApart) {
  Lack({"n1", "n2", "n3", "n7", "n8", "n9"}, 12);
  EXPECT_THAT(Told(), ElementsAre("not-learned su-1", "not-learned su-3"));  // none is accused
}

TEST_F(Learning, TwoLeavesOfFourThatMayBeAnyTwoAreNotNamed) {
  Lack(AllBut({"n4", "n5", "n6"}), 6);
  EXPECT_THAT(Told(), ElementsAre("not-learned su-1", "not-learned su-3"));
}

TEST_F(Learning, AUnitThatLacksAllOthersAndThatAllOthersLackIsThatUnit) {
  Lack({"n4", "n5", "n6"}, 24);
  Lack({"n1", "n2", "n3", "n7", "n8", "n9"}, 12);
  ASSERT_THAT(Told(), ElementsAre("units-apart su-2"));
  EXPECT_THAT(small_.Found().front().nodes, ElementsAre("n4", "n5", "n6"));
}

TEST_F(Learning, AUnitThatNobodyHasLearnedIsThatUnit) {
  SmallFleet two({.units = 2, .nodes = 3, .rails = 4});
  for (const char* node : {"n1", "n2", "n3"})
    two.Of(node).mutable_learned()->mutable_of_tenants(0)->set_remotes(8);
  two.Tell(kNoon);
  ASSERT_THAT(two.Told(), ElementsAre("units-apart su-2"));
  EXPECT_THAT(two.Found().front().what, HasSubstr("no other unit has learned the addresses of su-2"));
}

TEST_F(Learning, AllNodesOfOneUnitThatLackSomethingAreOneLine) {
  Lack({"n1", "n2", "n3"}, 5);
  ASSERT_THAT(Told(), ElementsAre("not-learned su-1"));
  EXPECT_THAT(small_.Found().front().what, HasSubstr("all 3 nodes of su-1"));
}

TEST_F(Learning, MoreThanIsExpectedIsNoCause) {
  small_.Of("n5").mutable_learned()->mutable_of_tenants(0)->set_remotes(1000);
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(Learning, ANodeThatIsStillLearningIsNotJudged) {
  Lack({"n5"}, 4);
  small_.Of("n5").mutable_learned()->set_complete(false);
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(Learning, ANodeWhoseBgpdPushesNothingLacksForThatReason) {
  Lack({"n5"}, 32);
  small_.Of("n5").mutable_node()->set_bmp_up(false);
  EXPECT_THAT(Told(), ElementsAre("bmp-down n5"));
}

TEST_F(Learning, WhatACutRailAnnouncedIsExpectedOfNobody) {
  small_.Cut("n5", 0);
  Lack(AllBut({"n5"}), 1);
  EXPECT_THAT(Told(), ElementsAre("session-down n5/rail0"));
}

TEST_F(Learning, OnACutRailNothingIsExpected) {
  small_.Cut("n5", 0);
  Lack({"n5"}, 8);
  EXPECT_THAT(Told(), ElementsAre("session-down n5/rail0"));
}

TEST_F(Learning, AnotherTenantsAddressesAreExpectedOfNobody) {
  SmallFleet two({.units = 1, .nodes = 3, .rails = 2, .pods = 2, .tenants = 2});
  v1::NodeState& state = two.Of("n1");
  state.mutable_attachments()->DeleteSubrange(2, 2);  // n1 has no pod of team-1
  two.CountAnew();
  two.Tell(kNoon);
  EXPECT_THAT(two.Told(), IsEmpty());
}

TEST_F(Learning, AnAddressOfAMomentAgoIsNotExpectedYet) {
  const int64_t now = kNoon + 600'000;  // of the first look of Told
  v1::Attachment& young = small_.AttachmentOf("n5", 0, 0);
  young.mutable_created()->set_seconds(now / 1000 - 1);
  Lack(AllBut({"n5"}), 1);
  small_.Tell(kNoon);
  const Grid grid(small_.fleet());
  Causes causes;
  EXPECT_FALSE(causes.Update(small_.fleet(), grid, now));
  EXPECT_EQ(causes.NextLookMs(), now + 4'000);
  causes.Update(small_.fleet(), grid, now + 4'000);
  causes.Update(small_.fleet(), grid, now + 8'000);
  EXPECT_FALSE(causes.list().empty());
}

TEST_F(Learning, WhatIsAnnouncedElsewhereIsExpectedOfNobody) {
  v1::Attachment& attachment = small_.AttachmentOf("n5", 0, 0);
  attachment.add_announced_elsewhere(attachment.addresses(0) + " is also announced by AS 4200010001");
  Lack(AllBut({"n5"}), 1);
  EXPECT_THAT(Told(), ElementsAre("address-announced-elsewhere " + attachment.addresses(0)));
}

}  // namespace
}  // namespace rail::fabric
