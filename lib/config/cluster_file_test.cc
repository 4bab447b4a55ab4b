#include "lib/config/cluster_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

namespace rail::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kRails[] =
    R"("rails": [ { "name": "rail0", "index": 0, "pf": "ens1", "bridge": "br-rail0", "mtu": 4200 } ])";
constexpr char kBgp[] =
    R"("cluster": "c", "bgp": { "asn": { "base": 4200000000, "from": "node_ip" }, "router_id": { "from": "node_ip" }, "community_asn": 1 })";

std::string File(const std::string& rules, const std::string& rails = kRails, const std::string& bgp = kBgp) {
  return "{" + rails + (rails.empty() || bgp.empty() ? "" : ",") + bgp +
         (rules.empty() ? "" : R"(, "rules": [)" + rules + "]") + "}";
}

std::string Bgp(const std::string& asn, const std::string& router_id = R"({"from": "node_ip"})") {
  return R"("cluster": "c", "bgp": { "asn": )" + asn + R"(, "router_id": )" + router_id +
         R"(, "community_asn": 1 })";
}

NodeFacts Node(const std::string& name, const std::string& ip = "10.0.3.7",
               std::map<std::string, std::string> labels = {}) {
  return {.name = name, .ip = *IpAddress::Parse(ip), .labels = std::move(labels)};
}

Result<std::string> FindUplink(const std::string& address) {
  if (address == "0000:3b:00.0") return std::string("enp59s0np0");
  if (address == "10002:01:00.0") return std::string("enP65538p1s0np0");
  return Fail(Code::kNotFound, "no device " + address);
}

Result<Resolved> Resolve(const std::string& text, const NodeFacts& node) {
  RAIL_ASSIGN(const ClusterFile file, ClusterFile::Parse(text));
  return file.Resolve(node, FindUplink);
}

std::string ErrorOf(const std::string& text, const NodeFacts& node = Node("gpu-a1")) {
  const auto resolved = Resolve(text, node);
  return resolved ? "no error: " + resolved->text : resolved.error().message;
}

uint32_t AsnOf(const std::string& asn, const NodeFacts& node) {
  const auto resolved = Resolve(File("", kRails, Bgp(asn)), node);
  EXPECT_TRUE(resolved) << resolved.error().message;
  return resolved ? resolved->config.bgp.asn : 0;
}

TEST(ClusterFile, MakesAsnAndRouterIdOfTheNodesAddress) {
  const auto resolved = Resolve(File(""), Node("n", "10.0.3.7"));
  ASSERT_TRUE(resolved) << resolved.error().message;
  EXPECT_EQ(resolved->config.bgp.asn, 4200000000U + 3 * 256 + 7);
  EXPECT_EQ(resolved->config.bgp.router_id.ToString(), "10.0.3.7");
  EXPECT_TRUE(Parse(resolved->text)) << "what is installed is a plain file";
  EXPECT_THAT(resolved->text, Not(HasSubstr("rules")));
}

TEST(ClusterFile, TakesAsManyBitsOfTheAddressAsItSays) {
  EXPECT_EQ(AsnOf(R"({"base": 4200000000, "from": "node_ip", "bits": 8})", Node("n", "10.0.3.7")),
            4200000007U);
  EXPECT_EQ(AsnOf(R"({"base": 4200000000, "from": "node_ip", "bits": 24})", Node("n", "10.1.0.7")),
            4200065543U);
  EXPECT_EQ(AsnOf(R"({"base": 1, "from": "node_ip", "bits": 32})", Node("n", "10.0.0.0")), 167772161U);
}

TEST(ClusterFile, MakesThemOfTheNodesNameOrALabel) {
  EXPECT_EQ(AsnOf(R"({"base": 4200000000, "from": "node_name", "pattern": "gpu-a*"})", Node("gpu-a017")),
            4200000017U);
  EXPECT_EQ(
      AsnOf(R"({"base": 100, "from": "node_name", "pattern": "n*.example.com"})", Node("n5.example.com")),
      105U);
  EXPECT_EQ(AsnOf(R"({"from": {"label": "example.com/asn"}})",
                  Node("n", "10.0.0.1", {{"example.com/asn", "65001"}})),
            65001U);
  const NodeFacts node = Node("gpu-7", "10.0.0.1", {{"id", "10.255.0.9"}, {"number", "3"}});
  for (const auto& [router_id, expected] : std::map<std::string, std::string>{
           {R"({"from": {"label": "id"}})", "10.255.0.9"},
           {R"({"base": "10.255.0.0", "from": {"label": "number"}})", "10.255.0.3"},
           {R"({"base": "10.255.0.255", "from": "node_name", "pattern": "gpu-*"})", "10.255.1.6"}}) {
    const auto resolved =
        Resolve(File("", kRails, Bgp(R"({"base": 1, "from": "node_ip"})", router_id)), node);
    ASSERT_TRUE(resolved) << resolved.error().message;
    EXPECT_EQ(resolved->config.bgp.router_id.ToString(), expected);
  }
}

TEST(ClusterFile, NamesTheKeyFromWhichNothingCanBeDerived) {
  for (const auto& [asn, why] : std::map<std::string, std::string>{
           {R"({"base": 4294967290, "from": "node_ip"})",
            "bgp.asn.base: with 775 of node gpu-a1 it is 4294968065"},
           {R"({"base": 0, "from": {"label": "zero"}})",
            "bgp.asn: must be a whole number from 1 to 4294967295"},
           {R"({"base": 1, "from": "node_ip", "bits": 33})",
            "bgp.asn.bits: must be a whole number from 1 to 32"},
           {R"({"base": 1, "from": "node_ip", "pattern": "x*"})", "bgp.asn.pattern: unknown key"},
           {R"({"from": "node_ip"})", "bgp.asn.base: is missing"},
           {R"({"base": -1, "from": "node_ip"})", "bgp.asn.base: must be a whole number"},
           {R"({"base": 1})", "bgp.asn.from: must be \"node_ip\""},
           {R"({"base": 1, "from": "rack"})", "bgp.asn.from: must be \"node_ip\""},
           {R"({"base": 1, "from": "node_name"})", "bgp.asn.pattern: must be a node's name with one '*'"},
           {R"({"base": 1, "from": "node_name", "pattern": "*-*"})",
            "bgp.asn.pattern: must be a node's name with one '*'"},
           {R"({"base": 1, "from": "node_name", "pattern": "gpu-b*"})",
            "does not fit the node's name, gpu-a1"},
           {R"({"base": 1, "from": "node_name", "pattern": "gpu-*"})",
            "does not fit the node's name, gpu-a1"},
           {R"({"base": 1, "from": {"label": "none"}})", "bgp.asn.from.label: node gpu-a1 has no label none"},
           {R"({"base": 1, "from": {"label": "text"}})",
            "label text of node gpu-a1: \"1x\" is not a whole number"},
           {R"({"base": 1, "from": {"label": "zero", "x": 1}})", "bgp.asn.from.x: unknown key"},
           {R"(4200000001)", "bgp.asn: 4200000001 would be that of every node"},
       }) {
    const std::string error =
        ErrorOf(File("", kRails, Bgp(asn)), Node("gpu-a1", "10.0.3.7", {{"text", "1x"}, {"zero", "0"}}));
    EXPECT_THAT(error, HasSubstr(why)) << asn;
  }
  for (const auto& [router_id, why] : std::map<std::string, std::string>{
           {R"("10.255.0.1")", "bgp.router_id: \"10.255.0.1\" would be that of every node"},
           {R"({"base": "10.0.0.0", "from": "node_ip"})", "bgp.router_id.base: has no effect"},
           {R"({"base": 7, "from": {"label": "zero"}})", "bgp.router_id.base: must be a string"},
           {R"({"base": "fd00::", "from": {"label": "zero"}})",
            "bgp.router_id.base: \"fd00::\" is not an IPv4 address"},
           {R"({"from": {"label": "zero"}})", "\"0\" is not an IPv4 address"},
       }) {
    const std::string error = ErrorOf(File("", kRails, Bgp(R"({"base": 1, "from": "node_ip"})", router_id)),
                                      Node("gpu-a1", "10.0.3.7", {{"zero", "0"}}));
    EXPECT_THAT(error, HasSubstr(why)) << router_id;
  }
  EXPECT_THAT(ErrorOf(File(""), Node("n", "fd00::7")),
              HasSubstr("bgp.asn.from: node n has the address fd00::7, and only"));
  EXPECT_THAT(ErrorOf(File(""), {.name = "n", .ip = {}, .labels = {}}),
              HasSubstr("the address of node n is not known"));
}

TEST(ClusterFile, MergesTheRulesThatMatchInTheirOrder) {
  const std::string rules = R"(
    { "where": { "node": "gpu-b*" }, "set": { "rails": [ { "name": "rail0", "pf": "enp1" } ], "tenancy": { "cross_rail": false } } },
    { "where": { "node": "gpu-?2", "label": { "rack": "r1" } }, "set": {
        "rails": [ { "name": "rail0", "pf": "enp2", "mtu": null }, { "name": "rail1", "index": 1, "pf": "enp3", "bridge": "br1" } ],
        "tenancy": { "tenants": { "team": ["a"] } }, "bgp": { "asn": 7 } } })";
  const auto plain = Resolve(File(rules), Node("gpu-a2"));
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->config.rails[0].pf, "ens1") << "no rule matches: the label is missing";
  const auto one = Resolve(File(rules), Node("gpu-b1", "10.0.0.9", {{"rack", "r1"}}));
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->config.rails[0].pf, "enp1");
  EXPECT_EQ(one->config.rails[0].mtu, 4200U) << "rails are merged";
  const auto both = Resolve(File(rules), Node("gpu-b2", "10.0.0.9", {{"rack", "r1"}}));
  ASSERT_TRUE(both) << both.error().message;
  ASSERT_EQ(both->config.rails.size(), 2U);
  EXPECT_EQ(both->config.rails[0].pf, "enp2") << "the later rule wins";
  EXPECT_EQ(both->config.rails[0].mtu, 1500U) << "null takes the key away";
  EXPECT_FALSE(both->config.tenancy.cross_rail) << "objects are merged";
  EXPECT_EQ(both->config.bgp.asn, 7U) << "a derivation is replaced whole";
}

TEST(ClusterFile, ARuleTakesARailAway) {
  const std::string rails = R"("rails": [ { "name": "rail0", "index": 0, "pf": "p0", "bridge": "b0" },
                                         { "name": "rail1", "index": 1, "pf": "p1", "bridge": "b1" } ])";
  const auto resolved = Resolve(
      File(R"({ "where": { "node": "n" }, "set": { "rails": [ { "name": "rail0", "remove": true } ] } })",
           rails),
      Node("n"));
  ASSERT_TRUE(resolved) << resolved.error().message;
  ASSERT_EQ(resolved->config.rails.size(), 1U);
  EXPECT_EQ(resolved->config.rails[0].name, "rail1");
}

TEST(ClusterFile, FindsUplinksByTheirPciAddress) {
  const auto rails = [](const std::string& pf) {
    return R"("rails": [ { "name": "rail0", "index": 0, "bridge": "br-rail0", "pf": ")" + pf + "\" } ]";
  };
  const auto resolved = Resolve(File("", rails("0000:3b:00.0")), Node("n"));
  ASSERT_TRUE(resolved) << resolved.error().message;
  EXPECT_EQ(resolved->config.rails[0].pf, "enp59s0np0");
  EXPECT_EQ(resolved->pf_as_written.at("rail0"), "0000:3b:00.0");
  EXPECT_EQ(Resolve(File("", rails("10002:01:00.0")), Node("n"))->config.rails[0].pf, "enP65538p1s0np0");
  EXPECT_THAT(
      ErrorOf(File("", rails("0000:3c:00.0"))),
      AllOf(HasSubstr("node gpu-a1: rails[0].pf: no device 0000:3c:00.0"), Not(HasSubstr("must be"))));
}

// What stands for the uplink where nobody can look for it is a name that a link may have.
TEST(ClusterFile, AnAddressOfAnyLengthStandsForAnUplinkElsewhere) {
  for (const char* address : {"0000:3b:00.0", "10002:01:00.0", "ffffffff:ff:1f.7"}) {
    const auto file = ClusterFile::Parse(
        File("", std::string(R"("rails": [ { "name": "rail0", "index": 0, "bridge": "br-rail0", "pf": ")") +
                     address + "\" } ]"),
        "node.json");
    ASSERT_TRUE(file) << file.error().message;
    const auto resolved = file->Resolve(Node("n"), UplinkElsewhere);
    EXPECT_TRUE(resolved) << resolved.error().message;
  }
}

TEST(ClusterFile, ANodeThatNoRuleMatchesTakesNobodyElsesKeys) {
  const std::string rule =
      R"({ "where": { "node": "gpu-a*" }, "set": { "rails": [ { "name": "rail0", "index": 0, "pf": "p", "bridge": "b" } ] } })";
  EXPECT_THAT(ErrorOf(File(rule, ""), Node("cpu-1")),
              HasSubstr("for node cpu-1: rails: must list at least one rail (no rule matches this node)"));
  const std::string pf =
      R"({ "where": { "node": "gpu-a*" }, "set": { "rails": [ { "name": "rail0", "pf": "p" } ] } })";
  EXPECT_THAT(
      ErrorOf(File(pf, R"("rails": [ { "name": "rail0", "index": 0, "bridge": "b" } ])"), Node("cpu-1")),
      HasSubstr("rails[0].pf: is missing (no rule matches this node)"));
}

TEST(ClusterFile, ErrorsNameTheRuleThatHasSetTheKey) {
  const std::string rule =
      R"({ "where": { "node": "gpu-a1" }, "set": { "rails": [ { "name": "rail1", "index": 0, "pf": "p", "bridge": "b" } ] } })";
  EXPECT_THAT(ErrorOf(File(rule)), AllOf(HasSubstr("rails[1].index: \"0\" is rails[0].index already"),
                                         HasSubstr("(set by rules[0].set.rails[0].index)"),
                                         HasSubstr("(in force: rules[0].set)")));
}

TEST(ClusterFile, RulesAreReadStrictlyWhetherANodeMatchesOrNot) {
  for (
      const auto& [rule, why] : std::map<std::string, std::string>{
          {R"(7)", "rules[0]: must be an object"},
          {R"({ "set": {} })", "rules[0].where: is missing"},
          {R"({ "where": {}, "set": {} })", "rules[0].where: must have \"node\""},
          {R"({ "where": { "node": 7 }, "set": {} })", "rules[0].where.node: must be a string"},
          {R"({ "where": { "name": "x" }, "set": {} })", "rules[0].where.name: unknown key"},
          {R"({ "where": { "label": { "a": 1 } }, "set": {} })", "rules[0].where.label.a: must be a string"},
          {R"({ "where": { "node": "x" } })", "rules[0].set: is missing"},
          {R"({ "where": { "node": "x" }, "set": {}, "sets": {} })", "rules[0].sets: unknown key"},
          {R"({ "where": { "node": "x" }, "set": { "rules": [] } })", "rules[0].set.rules: unknown key"},
          {R"({ "where": { "node": "x" }, "set": { "mtu": 9000 } })",
           "mtu: unknown key (set by rules[0].set.mtu)"},
          {R"({ "where": { "node": "x" }, "set": { "bgp": { "as": 1 } } })", "(set by rules[0].set.bgp.as)"},
          {R"({ "where": { "node": "x" }, "set": { "rails": [ { "name": "rail0", "mtu": 70 } ] } })",
           "rails[0].mtu: must be a whole number from 1280 to 9600 (set by rules[0].set.rails[0].mtu)"},
          {R"({ "where": { "node": "x" }, "set": { "rails": [ { "pf": "p" } ] } })",
           "rules[0].set.rails[0].name: is missing"},
          {R"({ "where": { "node": "x" }, "set": { "rails": [ 7 ] } })",
           "rules[0].set.rails[0]: must be an object"},
          {R"({ "where": { "node": "x" }, "set": { "rails": [ { "name": "a", "remove": false } ] } })",
           "rules[0].set.rails[0]: a rail is taken away by"},
          {R"({ "where": { "node": "x" }, "set": { "rails": [ { "name": "rail0" }, { "name": "rail0" } ] } })",
           "rules[0].set.rails[1].name: \"rail0\" is in this list already"},
      }) {
    const auto file = ClusterFile::Parse(File(rule));
    ASSERT_FALSE(file) << rule;
    EXPECT_THAT(file.error().message, HasSubstr(why)) << rule;
  }
  const auto base = ClusterFile::Parse(R"({"tenancies": {}})");
  ASSERT_FALSE(base);
  EXPECT_THAT(base.error().message, HasSubstr("tenancies: unknown key"));
}

TEST(ClusterFile, AnOverrideIsTheLastRuleForItsNode) {
  const std::string path = ::testing::TempDir() + "/cluster_file_test.json";
  const auto file = ClusterFile::Parse(
      File(R"({ "where": { "node": "gpu-a1" }, "set": { "rails": [ { "name": "rail0", "pf": "p1" } ] } })"));
  ASSERT_TRUE(file) << file.error().message;
  std::ofstream(path) << R"({ "rails": [ { "name": "rail0", "pf": "p2" } ], "bgp": { "asn": 9 } })";
  const auto with = file->WithOverride("gpu-a1", path);
  ASSERT_TRUE(with) << with.error().message;
  EXPECT_EQ(with->Resolve(Node("gpu-a1"), FindUplink)->config.rails[0].pf, "p2");
  EXPECT_EQ(with->Resolve(Node("gpu-a1"), FindUplink)->config.bgp.asn, 9U);
  EXPECT_EQ(with->Resolve(Node("gpu-a11"), FindUplink)->config.rails[0].pf, "ens1") << "no other node's";
  for (const auto& [text, why] : std::map<std::string, std::string>{
           {"[]", "must be an object"},
           {R"({"rules": []})", "rules: unknown key"},
           {R"({"rails": [ { "name": "rail0", "pff": "p2" } ]})",
            "rails[0].pff: unknown key (set by " + path},
       }) {
    std::ofstream(path) << text;
    const auto wrong = file->WithOverride("gpu-a1", path);
    ASSERT_FALSE(wrong) << text;
    EXPECT_THAT(wrong.error().message, HasSubstr(why));
  }
}

TEST(ClusterFile, SaysWhetherItNeedsLabels) {
  const auto needs = [](const std::string& text) { return ClusterFile::Parse(text)->needs_labels(); };
  EXPECT_FALSE(needs(File(R"({ "where": { "node": "x" }, "set": {} })")));
  EXPECT_TRUE(needs(File(R"({ "where": { "label": { "a": "b" } }, "set": {} })")));
  EXPECT_TRUE(needs(File("", kRails, Bgp(R"({"from": {"label": "asn"}})"))));
  EXPECT_TRUE(needs(
      File(R"({ "where": { "node": "x" }, "set": { "bgp": { "asn": {"from": {"label": "asn"}} } } })")));
  EXPECT_THAT(ErrorOf(File(R"({ "where": { "label": { "a": "b" } }, "set": {} })"),
                      {.name = "n", .ip = *IpAddress::Parse("10.0.0.1"), .labels = {}}),
              HasSubstr("it depends on the node's labels, and they are not known"));
}

TEST(ClusterFile, TwoThousandNodesHaveDifferentNumbers) {
  const auto file = ClusterFile::Parse(
      File(R"({ "where": { "node": "gpu-77" }, "set": { "tenancy": { "mode": "off" } } })"));
  ASSERT_TRUE(file) << file.error().message;
  std::set<uint32_t> asns;
  std::set<IpAddress> router_ids;
  for (int i = 0; i < 2000; ++i) {
    const auto ip = "10.0." + std::to_string(i / 250) + "." + std::to_string(1 + i % 250);
    const auto resolved = file->Resolve(Node("gpu-" + std::to_string(i), ip), FindUplink);
    ASSERT_TRUE(resolved) << resolved.error().message;
    asns.insert(resolved->config.bgp.asn);
    router_ids.insert(resolved->config.bgp.router_id);
    EXPECT_EQ(resolved->config.tenancy.mode == TenancyMode::kOff, i == 77);
  }
  EXPECT_EQ(asns.size(), 2000U);
  EXPECT_EQ(router_ids.size(), 2000U);
}

TEST(PlainFile, HasNoRules) {
  const auto node =
      Parse(File(R"({ "where": { "node": "x" }, "set": {} })", kRails, Bgp("1", R"("10.0.0.1")")));
  ASSERT_FALSE(node);
  EXPECT_THAT(node.error().message, HasSubstr("rules: a node's own file has none"));
}

}  // namespace
}  // namespace rail::config
