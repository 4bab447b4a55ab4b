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

TEST(ParseTopology, TakesANameOrNone) {
  Topology topology;
  EXPECT_THAT(Problems(json::object(), topology), IsEmpty());
  EXPECT_EQ(topology.unit, "");
  EXPECT_THAT(Problems({{"unit", "hall-2.su7"}}, topology), IsEmpty());
  EXPECT_EQ(topology.unit, "hall-2.su7");
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
