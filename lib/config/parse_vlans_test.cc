#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/config/testing/section.h"

namespace rail::config {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

struct Read {
  NodeConfig node;
  std::vector<std::string> problems;
};

// A node of the tenants team-a and team-b. `vlans`: the key's value as JSON; "": without the key.
Read With(const std::string& vlans, const char* mode = "vrf", bool labels = false) {
  nlohmann::json document = testing::Minimal();
  document["tenancy"] = {{"mode", mode}, {"tenants", {{"team-a", {"a"}}, {"team-b", {"b"}}}}};
  if (!vlans.empty()) document["tenancy"]["vlans"] = nlohmann::json::parse(vlans);
  document["kubernetes"]["tenants"] = labels;
  Read read;
  read.problems = testing::Problems(document, read.node);
  return read;
}

TEST(Vlans, AreReadForEachTenant) {
  const Read read = With(R"({"team-a": 1, "team-b": 4094})");
  EXPECT_THAT(read.problems, IsEmpty());
  EXPECT_THAT(read.node.tenancy.vlans.of_tenant, ElementsAre(Pair("team-a", 1), Pair("team-b", 4094)));
  EXPECT_EQ(read.node.tenancy.vlans.Of("team-b"), 4094);
  EXPECT_EQ(read.node.tenancy.vlans.Of("team-c"), kNoVlan);
}

TEST(Vlans, AreRefusedByTheirKeys) {
  const std::tuple<const char*, const char*, const char*> kBad[] = {
      {"", "tenancy.vlans: ", "is missing"},
      {"null", "tenancy.vlans: ", "is missing"},
      {"{}", "tenancy.vlans: ", "at least one tenant"},
      {"[101]", "tenancy.vlans: ", "must be an object"},
      {R"({"team-a": 0, "team-b": 2})", "tenancy.vlans.team-a: ", "from 1 to 4094"},
      {R"({"team-a": 4095, "team-b": 2})", "tenancy.vlans.team-a: ", "from 1 to 4094"},
      {R"({"team-a": "101", "team-b": 2})", "tenancy.vlans.team-a: ", "must be a"},
      {R"({"team-a": 101.5, "team-b": 2})", "tenancy.vlans.team-a: ", "must be a"},
      {R"({"team-a": 101, "team-b": 101})", "tenancy.vlans.team-b: ", "is tenancy.vlans.team-a already"},
      {R"({"team-a": 101})", "tenancy.vlans.team-b: ", "is missing"},
      {R"({"team-a": 101, "team-b": 102, "taem-a": 103})", "tenancy.vlans.taem-a: ", "is no tenant"},
  };
  for (const auto& [vlans, key, why] : kBad)
    EXPECT_THAT(With(vlans).problems, Contains(AllOf(HasSubstr(key), HasSubstr(why)))) << vlans;
}

TEST(Vlans, MayBeOfTenantsThatOnlyLabelsName) {
  EXPECT_THAT(With(R"({"team-a": 1, "team-b": 2, "of-a-label": 3})", "vrf", true).problems, IsEmpty());
}

TEST(Vlans, AreForTheirModeAlone) {
  for (const char* mode : {"namespace", "off"}) {
    EXPECT_THAT(With("", mode).problems, IsEmpty());
    EXPECT_THAT(With(R"({"team-a": 1})", mode).problems, ElementsAre(HasSubstr("only with tenancy.mode")));
  }
}

// Without pods no leaf is heard in this mode, and a scheduler that goes by labels gives pods to nodes that have them alone.
TEST(Vlans, LabelsNeedAUnitThatIsNamed) {
  const auto parse = [](const std::string& topology) {
    return Parse(R"({"rails": [{"name": "rail0", "index": 0, "pf": "p0", "bridge": "br-rail0"}],
    "cluster": "c", "bgp": {"asn": 1, "router_id": "10.0.0.1", "community_asn": 1},
    "tenancy": {"mode": "vrf", "tenants": {"team-a": ["a"]}, "vlans": {"team-a": 101}},
    "topology": )" +
                 topology + "}");
  };
  EXPECT_TRUE(parse("{}"));
  EXPECT_TRUE(parse(R"({"labels": {}, "unit": "hall-2"})"));
  const auto node = parse(R"({"labels": {}})");
  ASSERT_FALSE(node);
  EXPECT_THAT(node.error().message, HasSubstr("topology.unit: is missing: in mode \"vrf\""));
}

// A mode of which half is there must not be one that a file can turn on.
TEST(Vlans, NeedABgpdThatRaildConfigures) {
  const auto parse = [](const std::string& bgp) {
    return Parse(R"({"rails": [{"name": "rail0", "index": 0, "pf": "p0", "bridge": "br-rail0"}],
    "cluster": "c", "bgp": {"asn": 1, "router_id": "10.0.0.1", "community_asn": 1)" +
                 bgp + R"(},
    "tenancy": {"mode": "vrf", "tenants": {"team-a": ["a"]}, "vlans": {"team-a": 101}}})");
  };
  EXPECT_TRUE(parse("")) << "it does unless told otherwise";
  const auto node = parse(R"(, "manage": false)");
  ASSERT_FALSE(node);
  EXPECT_THAT(node.error().message, HasSubstr("bgp.manage: must be true in mode \"vrf\""));
}

}  // namespace
}  // namespace rail::config
