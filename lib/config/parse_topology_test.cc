#include "lib/config/parse_topology.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace rail::config {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> Problems(const json& section, Topology& topology) {
  JsonErrors errors;
  ParseTopology(&section, topology, errors);
  return errors.list();
}

TEST(ParseTopology, NothingIsSaidToAnybodyByDefault) {
  Topology topology;
  EXPECT_THAT(Problems(json::object(), topology), IsEmpty());
  EXPECT_FALSE(topology.labels);
  EXPECT_EQ(topology.unit, "");
  EXPECT_EQ(topology.unit_label, "railcni.io/su");
  EXPECT_EQ(topology.leaf_label, "railcni.io/leaf-");
  EXPECT_EQ(topology.tier_labels, "");
}

TEST(ParseTopology, TakesNamesAndKeysOfTheSitesOwn) {
  Topology topology;
  EXPECT_THAT(Problems({{"unit", "hall-2.su7"},
                        {"labels", true},
                        {"unit_label", "example.com/unit"},
                        {"leaf_label", "example.com/l-"},
                        {"tier_labels", "fabric.topograph.run/tier-"}},
                       topology),
              IsEmpty());
  EXPECT_EQ(topology.unit, "hall-2.su7");
  EXPECT_TRUE(topology.labels);
  EXPECT_EQ(topology.leaf_label, "example.com/l-");
}

TEST(ParseTopology, NamesTheKeyThatCannotBe) {
  Topology topology;
  EXPECT_THAT(Problems({{"unit", "su 7"}}, topology), ElementsAre(HasSubstr("topology.unit: \"su 7\" must be")));
  EXPECT_THAT(Problems({{"unit", std::string(64, 'a')}}, topology), ElementsAre(HasSubstr("topology.unit")));
  EXPECT_THAT(Problems({{"unit_label", "a/b/c"}}, topology), ElementsAre(HasSubstr("topology.unit_label")));
  // The name of a rail has 15 bytes.
  EXPECT_THAT(Problems({{"leaf_label", "railcni.io/" + std::string(49, 'l')}}, topology),
              ElementsAre(HasSubstr("topology.leaf_label")));
  EXPECT_THAT(Problems({{"tier_labels", "/tier-"}}, topology), ElementsAre(HasSubstr("topology.tier_labels")));
  EXPECT_THAT(Problems({{"su", "x"}}, topology), ElementsAre(HasSubstr("su")));
}

}  // namespace
}  // namespace rail::config
