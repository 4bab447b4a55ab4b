#include <gmock/gmock.h>

#include "lib/config/testing/section.h"

namespace rail::config {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Problems(const json& section, Topology& topology) {
  NodeConfig node;
  auto problems = testing::ProblemsWith("topology", section, node);
  topology = node.topology;
  return problems;
}

TEST(ParseTopology, TakesANameOrNone) {
  Topology topology;
  EXPECT_THAT(Problems(json::object(), topology), IsEmpty());
  EXPECT_EQ(topology.unit, "");
  EXPECT_THAT(Problems({{"unit", "hall-2.su7"}}, topology), IsEmpty());
  EXPECT_EQ(topology.unit, "hall-2.su7");
}

TEST(ParseTopology, WritesNoLabelUnlessAsked) {
  Topology topology;
  EXPECT_THAT(Problems(json::object(), topology), IsEmpty());
  EXPECT_FALSE(topology.labels);
  EXPECT_THAT(Problems({{"labels", json::object()}}, topology), IsEmpty());
  EXPECT_EQ(*topology.labels, TopologyLabels());
  const json own = {{"unit", "x.io/u"}, {"leaf", "leaf-of-"}, {"tier", "fabric.topograph.run/tier-"}};
  EXPECT_THAT(Problems({{"labels", own}}, topology), IsEmpty());
  EXPECT_EQ(*topology.labels, (TopologyLabels{"x.io/u", "leaf-of-", "fabric.topograph.run/tier-"}));
}

TEST(ParseTopology, NamesTheLabelThatCannotBe) {
  Topology topology;
  EXPECT_THAT(Problems({{"labels", {{"unit", "a b"}}}}, topology),
              ElementsAre(HasSubstr("topology.labels.unit: \"a b\" must be the key of a label")));
  EXPECT_THAT(Problems({{"labels", {{"unit", ""}}}}, topology),
              Contains(HasSubstr("topology.labels.unit: \"\" must")));
  EXPECT_THAT(Problems({{"labels", {{"leaf", "x.io/" + std::string(49, 'a')}}}}, topology),
              ElementsAre(HasSubstr("topology.labels.leaf")));
  EXPECT_THAT(Problems({{"labels", {{"tier", "x/y/"}}}}, topology),
              ElementsAre(HasSubstr("topology.labels.tier")));
  EXPECT_THAT(Problems({{"labels", {{"leaf", "railcni.io/su"}}}}, topology),
              ElementsAre(HasSubstr("must differ")));
  EXPECT_THAT(Problems({{"labels", {{"su", "x"}}}}, topology), ElementsAre(HasSubstr("su")));
}

TEST(ParseTopology, NamesTheKeyThatCannotBe) {
  Topology topology;
  EXPECT_THAT(Problems({{"unit", "su 7"}}, topology),
              ElementsAre(HasSubstr("topology.unit: \"su 7\" must be")));
  EXPECT_THAT(Problems({{"unit", std::string(64, 'a')}}, topology), ElementsAre(HasSubstr("topology.unit")));
  EXPECT_THAT(Problems({{"unit", 7}}, topology), ElementsAre(HasSubstr("topology.unit")));
  EXPECT_THAT(Problems({{"su", "x"}}, topology), ElementsAre(HasSubstr("su")));
}

}  // namespace
}  // namespace rail::config
