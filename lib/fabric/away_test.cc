// Nodes that do not answer are unseen, and nothing more.
#include <gmock/gmock.h>

#include "lib/fabric/testing/small_fleet.h"

namespace rail::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kNoon;
using ::testing::Pair;
using ::testing::SizeIs;
using testing::SmallFleet;

class AwayNodes : public ::testing::Test {
 protected:
  AwayNodes() { small_.Tell(kNoon); }
  void Lose(const std::vector<std::string>& nodes) {
    for (const std::string& node : nodes) small_.fleet().SetAway(node, kNoon + 180'000, "connect: timed out");
  }

  SmallFleet small_;
};

TEST_F(AwayNodes, OneIsOneLineWithItsTimeAndReason) {
  Lose({"n3"});
  ASSERT_THAT(small_.Told(), ElementsAre("nodes-away n3"));
  const Cause& cause = small_.Found().front();
  EXPECT_EQ(cause.what, "n3: raild does not answer since 12:03 UTC: connect: timed out");
  EXPECT_EQ(cause.kind->severity, v1::Finding::WARNING);
  EXPECT_THAT(cause.follows, ElementsAre(Pair("attachments", 4U)));
}

TEST_F(AwayNodes, AllOfAUnitAreOneLine) {
  Lose({"n5", "n6", "n7", "n8"});
  ASSERT_THAT(small_.Told(), ElementsAre("nodes-away su-2"));
  EXPECT_THAT(small_.Found().front().nodes, SizeIs(4));
}

TEST_F(AwayNodes, SeveralAreOneLine) {
  Lose({"n1", "n2", "n7"});
  EXPECT_THAT(small_.Told(), ElementsAre("nodes-away several nodes"));
}

TEST_F(AwayNodes, AllAreOneLine) {
  Lose(small_.Names());
  EXPECT_THAT(small_.Told(), ElementsAre("nodes-away fleet"));
}

TEST_F(AwayNodes, WhatTheyAnnouncedIsExpectedOfNobody) {
  Lose({"n1"});
  for (const std::string& name : small_.Names()) {  // the fabric has taken back what n1 announced
    if (name == "n1") continue;
    v1::NodeState state = small_.Of(name);
    state.mutable_learned()->mutable_of_tenants(0)->set_remotes(state.learned().of_tenants(0).remotes() - 4);
    ASSERT_TRUE(small_.fleet().Apply(name, testing::Whole(state), kNoon));
  }
  EXPECT_THAT(small_.Told(), ElementsAre("nodes-away n1"));
}

TEST_F(AwayNodes, OneThatHasNeverAnsweredIsSaidToBeSo) {
  small_.fleet().Expect("n9");
  EXPECT_THAT(small_.Told(), ElementsAre("nodes-unheard n9"));
  small_.fleet().SetAway("n9", kNoon, "refused");
  EXPECT_THAT(small_.Told(), ElementsAre("nodes-unheard n9"));
}

TEST_F(AwayNodes, OneThatIsBackIsForgotten) {
  Lose({"n3"});
  small_.Tell(kNoon + 1);
  EXPECT_THAT(small_.Told(), IsEmpty());
}

}  // namespace
}  // namespace rail::fabric
