#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"
#include "lib/config/node_config.h"

namespace rail::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kMinimal = R"({
  "rails": [ { "name": "rail0", "index": 0, "pf": "ens1f0np0", "bridge": "br-rail0" } ],
  "cluster": "c", "bgp": { "asn": 4200000001, "router_id": "10.255.0.1", "community_asn": 4200000000 } })";

constexpr std::string_view kFull = R"({
  "rails": [
    { "name": "rail1", "index": 1, "pf": "ens2f0np0", "bridge": "br-rail1", "mtu": 9000,
      "manage_sriov": true, "num_vfs": 8, "flow_steering_mode": "dmfs", "accept": ["10.1.0.0/16", "fd00:1::/48"] },
    { "name": "rail0", "index": 0, "pf": "ens1f0np0", "bridge": "br-rail0", "mtu": 4200,
      "devices": [ { "device": "vf0", "representor": "rep0" }, { "device": "0000:3b:00.2", "representor": "rep1" },
                   { "device": "10002:01:00.2", "representor": "rep2" } ] } ],
  "tenancy": { "mode": "off", "tenants": { "team-a": ["ns-a", "ns-a-dev"] } },
  "cluster": "c", "bgp": { "manage": false, "asn": 4200000001, "router_id": "10.255.0.1", "community_asn": 4200000000,
    "max_prefixes": 1000 },
  "ovs": { "db": "unix:/x/db.sock", "run_dir": "/x", "manage_bridges": false, "remove_foreign_flows": true, "datapath": "netdev" },
  "frr": { "run_dir": "/y" } })";

TEST(NodeConfig, GivesDefaultsWhenOnlyTheRequiredKeysAreThere) {
  const auto node = Parse(kMinimal);
  ASSERT_TRUE(node) << node.error().message;
  ASSERT_EQ(node->rails.size(), 1U);
  EXPECT_EQ(node->rails[0].pf, "ens1f0np0");
  EXPECT_EQ(node->rails[0].mtu, 1500U);
  EXPECT_TRUE(node->rails[0].devices.empty());
  EXPECT_FALSE(node->rails[0].manage_sriov);
  EXPECT_EQ(node->rails[0].flow_steering, "smfs");
  EXPECT_EQ(node->tenancy.mode, TenancyMode::kNamespace);
  EXPECT_TRUE(node->tenancy.tenants.empty());
  EXPECT_TRUE(node->bgp.manage);
  EXPECT_TRUE(node->rails[0].accept.empty()) << "everything is accepted";
  EXPECT_EQ(node->bgp.max_prefixes, 256'000U);
  EXPECT_EQ(node->ovs.db_socket, "/run/openvswitch/db.sock");
  EXPECT_EQ(node->ovs.run_dir, "/run/openvswitch");
  EXPECT_TRUE(node->ovs.manage_bridges);
  EXPECT_FALSE(node->ovs.remove_foreign_flows) << "by who made the bridge";
  EXPECT_EQ(node->ovs.datapath, "system");
  EXPECT_EQ(node->frr.run_dir, "/run/frr");
}

TEST(NodeConfig, ReadsEveryKey) {
  const auto node = Parse(kFull);
  ASSERT_TRUE(node) << node.error().message;
  ASSERT_EQ(node->rails.size(), 2U);
  EXPECT_EQ(node->rails[0].name, "rail0") << "rails are by index, not in the order of the file";
  EXPECT_EQ(node->rails[0].mtu, 4200U);
  ASSERT_NE(node->rails[0].FindDevice("0000:3b:00.2"), nullptr);
  EXPECT_EQ(node->rails[0].FindDevice("0000:3b:00.2")->representor, "rep1");
  ASSERT_NE(node->rails[0].FindDevice("10002:01:00.2"), nullptr);
  EXPECT_EQ(node->rails[0].FindDevice("rep1"), nullptr);
  EXPECT_TRUE(node->rails[1].manage_sriov);
  EXPECT_EQ(node->rails[1].num_vfs, 8U);
  EXPECT_EQ(node->rails[1].flow_steering, "dmfs");
  EXPECT_EQ(node->rails[1].accept,
            (std::vector{*IpPrefix::Parse("10.1.0.0/16"), *IpPrefix::Parse("fd00:1::/48")}));
  EXPECT_EQ(node->bgp.max_prefixes, 1000U);
  ASSERT_NE(node->FindRail("rail1"), nullptr);
  EXPECT_EQ(node->FindRail("rail1")->bridge, "br-rail1");
  EXPECT_EQ(node->FindRail("rail2"), nullptr);
  EXPECT_EQ(node->tenancy.mode, TenancyMode::kOff);
  EXPECT_EQ(node->tenancy.tenants.at("team-a"), (std::vector<std::string>{"ns-a", "ns-a-dev"}));
  EXPECT_FALSE(node->bgp.manage);
  EXPECT_EQ(node->bgp.asn, 4200000001U);
  EXPECT_EQ(node->bgp.router_id.ToString(), "10.255.0.1");
  EXPECT_EQ(node->bgp.community_asn, 4200000000U);
  EXPECT_EQ(node->ovs.db_socket, "/x/db.sock");
  EXPECT_EQ(node->ovs.run_dir, "/x");
  EXPECT_FALSE(node->ovs.manage_bridges);
  EXPECT_EQ(node->ovs.remove_foreign_flows, true);
  EXPECT_EQ(node->ovs.datapath, "netdev");
  EXPECT_EQ(node->frr.run_dir, "/y");
}

// The full document with one value replaced; `value` "" removes the key.
struct BadValue {
  const char* name;
  const char* pointer;
  const char* value;
  const char* key;  // the message names it
  const char* why;  // and says this
};
void PrintTo(const BadValue& bad, std::ostream* out) {
  *out << bad.pointer << " = " << bad.value;
}

class BadDocument : public ::testing::TestWithParam<BadValue> {};

TEST_P(BadDocument, IsRefusedAndTheKeyNamed) {
  const BadValue& bad = GetParam();
  nlohmann::json document = nlohmann::json::parse(kFull);
  const nlohmann::json::json_pointer pointer(bad.pointer);
  if (*bad.value == '\0') {
    document[pointer.parent_pointer()].erase(pointer.back());
  } else {
    document[pointer] = nlohmann::json::parse(bad.value);
  }
  const auto node = Parse(document.dump());
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().code, Code::kInvalid);
  EXPECT_THAT(node.error().message, AllOf(HasSubstr("node.json: " + std::string(bad.key) + ": "),
                                          HasSubstr(bad.why), Not(HasSubstr(";"))))
      << "exactly one complaint is expected";
}

constexpr const char* kLinkRule = "1 to 15 bytes without '/', ':', '%' or space";
const BadValue kBadValues[] = {
    {"UnknownAtTheTop", "/rail", "[]", "rail", "unknown key"},
    {"UnknownInARail", "/rails/0/vlan", "7", "rails[0].vlan", "unknown key"},
    {"UnknownInADevice", "/rails/1/devices/0/rep", "\"r\"", "rails[1].devices[0].rep", "unknown key"},
    {"UnknownInTenancy", "/tenancy/namespaces", "{}", "tenancy.namespaces", "unknown key"},
    {"KeyFileIsNoMore", "/tenancy/key_file", "\"/k\"", "tenancy.key_file", "unknown key"},
    {"AcceptNothing", "/rails/0/accept", "[]", "rails[0].accept", "must list at least one prefix"},
    {"AcceptAnAddress", "/rails/0/accept/0", "\"10.1.0.0\"", "rails[0].accept[0]",
     "must be a prefix without host bits"},
    {"AcceptWithHostBits", "/rails/0/accept/1", "\"fd00:1::7/48\"", "rails[0].accept[1]",
     "must be a prefix without host bits"},
    {"AcceptTooLong", "/rails/0/accept/0", "\"10.1.0.0/33\"", "rails[0].accept[0]",
     "must be a prefix without host bits"},
    {"AcceptANumber", "/rails/0/accept/0", "7", "rails[0].accept[0]", "must be a string"},
    {"PodsNothing", "/rails/0/pods", "[]", "rails[0].pods", "must list at least one prefix"},
    {"PodsWithHostBits", "/rails/0/pods", "[\"10.1.0.7/16\"]", "rails[0].pods[0]",
     "a prefix without host bits"},
    {"IpamNothing", "/pods/ipam", "[]", "pods.ipam", "must name at least one plugin"},
    {"IpamANumber", "/pods/ipam", "[7]", "pods.ipam[0]", "must be a string"},
    {"NoPrefixes", "/bgp/max_prefixes", "0", "bgp.max_prefixes", "1 to 4294967295"},
    {"UnknownInBgp", "/bgp/as", "1", "bgp.as", "unknown key"},
    {"TableOfTheKernel", "/pods", R"({"first_table": 154})", "pods.first_table", "1 to 153, or 256 and more"},
    {"TableNone", "/pods", R"({"first_table": 0})", "pods.first_table", "1 to 4294967196"},
    {"TableTooHigh", "/pods", R"({"first_table": 4294967197})", "pods.first_table", "1 to 4294967196"},
    {"RuleAfterMain", "/pods", R"({"first_rule": 32567})", "pods.first_rule", "1 to 32566"},
    {"UnknownInPods", "/pods", R"({"table": 7})", "pods.table", "unknown key"},
    {"UnknownInOvs", "/ovs/bridge", "\"b\"", "ovs.bridge", "unknown key"},
    {"UnknownInFrr", "/frr/vtysh", "\"b\"", "frr.vtysh", "unknown key"},
    {"NoRails", "/rails", "", "rails", "at least one"},
    {"RailsEmpty", "/rails", "[]", "rails", "at least one"},
    {"RailsAnObject", "/rails", "{}", "rails", "must be a list"},
    {"RailAString", "/rails/0", "\"rail0\"", "rails[0]", "must be an object"},
    {"NameMissing", "/rails/0/name", "", "rails[0].name", "is missing"},
    {"NameNumber", "/rails/0/name", "1", "rails[0].name", "must be a string"},
    {"NameEmpty", "/rails/0/name", "\"\"", "rails[0].name", "1 to 15"},
    {"NameTooLong", "/rails/0/name", "\"rail567890123456\"", "rails[0].name", "1 to 15"},
    {"NameUpperCase", "/rails/0/name", "\"Rail1\"", "rails[0].name", "a-z"},
    {"NameEndsInDash", "/rails/0/name", "\"rail1-\"", "rails[0].name", "'-' at either end"},
    {"NameWithNewline", "/rails/0/name", "\"rail\\n1\"", "rails[0].name", "\"rail\\n1\""},
    {"NameTwice", "/rails/1/name", "\"rail1\"", "rails[1].name", "is rails[0].name already"},
    {"IndexMissing", "/rails/0/index", "", "rails[0].index", "is missing"},
    {"IndexNegative", "/rails/0/index", "-1", "rails[0].index", "from 0 to 99"},
    {"IndexTooLarge", "/rails/0/index", "100", "rails[0].index", "from 0 to 99"},
    {"IndexFraction", "/rails/0/index", "1.5", "rails[0].index", "whole number"},
    {"IndexTwice", "/rails/1/index", "1", "rails[1].index", "is rails[0].index already"},
    {"PfMissing", "/rails/0/pf", "", "rails[0].pf", "is missing"},
    {"PfWithSlash", "/rails/0/pf", "\"a/b\"", "rails[0].pf", kLinkRule},
    {"PfWithColon", "/rails/0/pf", "\"a:b\"", "rails[0].pf", kLinkRule},
    {"PfWithSpace", "/rails/0/pf", "\"a b\"", "rails[0].pf", kLinkRule},
    {"PfWithNewline", "/rails/0/pf", "\"a\\nb\"", "rails[0].pf", kLinkRule},
    {"PfTooLong", "/rails/0/pf", "\"ens1f0np0567890x\"", "rails[0].pf", kLinkRule},
    {"PfDotDot", "/rails/0/pf", "\"..\"", "rails[0].pf", kLinkRule},
    {"PfTwice", "/rails/1/pf", "\"ens2f0np0\"", "rails[1].pf", "is rails[0].pf already"},
    {"BridgeMissing", "/rails/0/bridge", "", "rails[0].bridge", "is missing"},
    {"BridgeTooLong", "/rails/0/bridge", "\"br-rail890123456\"", "rails[0].bridge", kLinkRule},
    {"BridgeTwice", "/rails/1/bridge", "\"br-rail1\"", "rails[1].bridge", "is rails[0].bridge already"},
    {"BridgeIsAPf", "/rails/1/bridge", "\"ens2f0np0\"", "rails[1].bridge", "is rails[0].pf already"},
    {"MtuTooSmall", "/rails/0/mtu", "1279", "rails[0].mtu", "from 1280 to 9600"},
    {"MtuTooLarge", "/rails/0/mtu", "9601", "rails[0].mtu", "from 1280 to 9600"},
    {"MtuString", "/rails/0/mtu", "\"4200\"", "rails[0].mtu", "whole number"},
    {"ManageSriovString", "/rails/1/manage_sriov", "\"yes\"", "rails[1].manage_sriov", "true or false"},
    {"NumVfsMissing", "/rails/0/num_vfs", "", "rails[0].num_vfs", "is missing"},
    {"NumVfsZero", "/rails/0/num_vfs", "0", "rails[0].num_vfs", "from 1 to 1024"},
    {"NumVfsNotManaged", "/rails/1/num_vfs", "8", "rails[1].num_vfs", "only with \"manage_sriov\": true"},
    {"SteeringNotManaged", "/rails/1/flow_steering_mode", "\"smfs\"", "rails[1].flow_steering_mode",
     "only with \"manage_sriov\": true"},
    {"SteeringUnknown", "/rails/0/flow_steering_mode", "\"fast\"", "rails[0].flow_steering_mode", "\"smfs\""},
    {"DevicesString", "/rails/1/devices", "\"vf0\"", "rails[1].devices", "must be a list"},
    {"DeviceString", "/rails/1/devices/0", "\"vf0\"", "rails[1].devices[0]", "must be an object"},
    {"DeviceMissing", "/rails/1/devices/0/device", "", "rails[1].devices[0].device", "is missing"},
    {"DeviceBadPci", "/rails/1/devices/1/device", "\"3b:00.2\"", "rails[1].devices[1].device", "PCI address"},
    {"DeviceTwice", "/rails/1/devices/1/device", "\"vf0\"", "rails[1].devices[1].device",
     "is rails[1].devices[0].device already"},
    {"RepresentorMissing", "/rails/1/devices/0/representor", "", "rails[1].devices[0].representor",
     "is missing"},
    {"RepresentorTwice", "/rails/1/devices/1/representor", "\"rep0\"", "rails[1].devices[1].representor",
     "is rails[1].devices[0].representor already"},
    {"RepresentorIsADevice", "/rails/1/devices/1/representor", "\"vf0\"", "rails[1].devices[1].representor",
     "is rails[1].devices[0].device already"},
    {"TenancyString", "/tenancy", "\"off\"", "tenancy", "must be an object"},
    {"ModeUnknown", "/tenancy/mode", "\"label\"", "tenancy.mode", "\"namespace\", \"off\" or \"vrf\""},
    {"VlansWithoutVrf", "/tenancy/vlans", "{\"team-a\": 101}", "tenancy.vlans",
     "only with tenancy.mode \"vrf\""},
    {"ModeFalse", "/tenancy/mode", "false", "tenancy.mode", "must be a string"},
    {"TenantsList", "/tenancy/tenants", "[]", "tenancy.tenants", "must be an object"},
    {"TenantNameUpperCase", "/tenancy/tenants/Team", "[\"x\"]", "tenancy.tenants.Team", "1 to 63"},
    {"TenantEmpty", "/tenancy/tenants/team-a", "[]", "tenancy.tenants.team-a", "at least one namespace"},
    {"TenantNull", "/tenancy/tenants/team-a", "null", "tenancy.tenants.team-a", "at least one namespace"},
    {"TenantString", "/tenancy/tenants/team-a", "\"ns\"", "tenancy.tenants.team-a", "must be a list"},
    {"TenantOfNumbers", "/tenancy/tenants/team-a", "[1]", "tenancy.tenants.team-a[0]", "must be a string"},
    {"NamespaceInvalid", "/tenancy/tenants/team-a", "[\"a_b\"]", "tenancy.tenants.team-a[0]", "1 to 63"},
    {"NamespaceInTwoTenants", "/tenancy/tenants/team-b", "[\"ns-a\"]", "tenancy.tenants.team-b[0]",
     "is tenancy.tenants.team-a[0] already"},
    {"NamespaceTwice", "/tenancy/tenants/team-a", "[\"ns-a\", \"ns-a\"]", "tenancy.tenants.team-a[1]",
     "already"},
    {"BgpMissing", "/bgp", "", "bgp", "is missing"},
    {"BgpList", "/bgp", "[]", "bgp", "must be an object"},
    {"ManageString", "/bgp/manage", "\"yes\"", "bgp.manage", "true or false"},
    {"AsnMissing", "/bgp/asn", "", "bgp.asn", "is missing"},
    {"AsnZero", "/bgp/asn", "0", "bgp.asn", "from 1 to 4294967295"},
    {"AsnTooLarge", "/bgp/asn", "4294967296", "bgp.asn", "from 1 to 4294967295"},
    {"RouterIdMissing", "/bgp/router_id", "", "bgp.router_id", "is missing"},
    {"RouterIdV6", "/bgp/router_id", "\"fd00::1\"", "bgp.router_id", "IPv4"},
    {"RouterIdZero", "/bgp/router_id", "\"0.0.0.0\"", "bgp.router_id", "0.0.0.0"},
    {"RouterIdNumber", "/bgp/router_id", "1", "bgp.router_id", "must be a string"},
    {"ClusterMissing", "/cluster", "", "cluster", "is missing: give this cluster a name"},
    {"ClusterPlaceholder", "/cluster", "\"NAME-THIS-CLUSTER\"", "cluster", "must be a name of your own"},
    {"ClusterEmpty", "/cluster", "\"\"", "cluster", "must be a name of your own"},
    {"ClusterNumber", "/cluster", "7", "cluster", "must be a string"},
    {"ClusterTooLong", "/cluster", "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"",
     "cluster", "1 to 63"},
    {"AliasString", "/cluster_aliases", "\"east\"", "cluster_aliases", "must be a list"},
    {"AliasUpperCase", "/cluster_aliases", "[\"East\"]", "cluster_aliases[0]", "1 to 63"},
    {"AliasIsTheCluster", "/cluster_aliases", "[\"\", \"c\"]", "cluster_aliases[1]", "is cluster already"},
    {"AliasTwice", "/cluster_aliases", "[\"a\", \"a\"]", "cluster_aliases[1]",
     "is cluster_aliases[0] already"},
    {"CommunityAsnMissing", "/bgp/community_asn", "", "bgp.community_asn", "is missing"},
    {"CommunityAsnZero", "/bgp/community_asn", "0", "bgp.community_asn", "from 1"},
    {"CrossRailNumber", "/tenancy/cross_rail", "1", "tenancy.cross_rail", "true or false"},
    {"DbTcp", "/ovs/db", "\"tcp:127.0.0.1:6640\"", "ovs.db", "unix:"},
    {"DbRelative", "/ovs/db", "\"unix:db.sock\"", "ovs.db", "absolute path"},
    {"OvsRunDirRelative", "/ovs/run_dir", "\"run\"", "ovs.run_dir", "absolute path"},
    {"RemoveForeignFlowsWord", "/ovs/remove_foreign_flows", "\"yes\"", "ovs.remove_foreign_flows",
     "true or false"},
    {"ManageBridgesNumber", "/ovs/manage_bridges", "1", "ovs.manage_bridges", "true or false"},
    {"DatapathUnknown", "/ovs/datapath", "\"dpdk\"", "ovs.datapath", "\"system\" or \"netdev\""},
    {"FrrRunDirNumber", "/frr/run_dir", "1", "frr.run_dir", "must be a string"},
};
INSTANTIATE_TEST_SUITE_P(NodeConfig, BadDocument, ::testing::ValuesIn(kBadValues),
                         [](const auto& param_info) { return param_info.param.name; });

// The way from no name to one, which UPGRADE.md describes.
TEST(NodeConfig, TakesAClusterWithoutANameOnlyWhereItGetsOne) {
  nlohmann::json document = nlohmann::json::parse(kMinimal);
  document["cluster"] = "";
  document["cluster_aliases"] = {"east"};
  const auto first = Parse(document.dump());
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->cluster.name, "");
  EXPECT_EQ(first->cluster.aliases, std::vector<std::string>{"east"});
  document["cluster"] = "east";
  document["cluster_aliases"] = {""};
  const auto second = Parse(document.dump());
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->cluster.name, "east");
  EXPECT_EQ(second->cluster.aliases, std::vector<std::string>{""});
}

TEST(NodeConfig, TellsAllProblemsAtOnce) {
  const auto node = Parse(R"({"rails": [{"name": "rail0", "index": 200, "pf": "a b", "bridge": "br"}],
                              "bgp": {"asn": 1, "router_id": "x"}, "extra": 1})");
  ASSERT_FALSE(node);
  for (const char* key : {"cluster: ", "rails[0].index: ", "rails[0].pf: ", "bgp.router_id: ",
                          "bgp.community_asn: ", "extra: "}) {
    EXPECT_THAT(node.error().message, HasSubstr(key));
  }
}

TEST(NodeConfig, KeepsPodsOnTheirRailsOnlyWhereTenantsAreKeptApart) {
  nlohmann::json document = nlohmann::json::parse(kMinimal);
  EXPECT_TRUE(Parse(document.dump())->tenancy.cross_rail);
  document["tenancy"] = {{"cross_rail", false}};
  EXPECT_FALSE(Parse(document.dump())->tenancy.cross_rail);
  document["tenancy"]["mode"] = "off";
  const auto refused = Parse(document.dump());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("tenancy.cross_rail: false needs tenancy.mode"));
}

TEST(NodeConfig, RefusesARunFolderWhoseSocketsWouldNotFitAnAddress) {
  nlohmann::json document = nlohmann::json::parse(kFull);
  document["ovs"]["run_dir"] = "/" + std::string(85, 'r');
  EXPECT_TRUE(Parse(document.dump()));
  document["ovs"]["run_dir"] = "/" + std::string(86, 'r');
  EXPECT_FALSE(Parse(document.dump()));
}

std::string WithApi(const std::string& api) {
  std::string text(kMinimal);
  return text.substr(0, text.rfind('}')) + R"(, "api": )" + api + "}";
}

TEST(NodeConfig, ReadsWhereTheApiListens) {
  EXPECT_EQ(Parse(kMinimal)->api.listen, "");
  for (const std::string listen : {"10.0.0.5:9443", "[::]:1", "[2001:db8::5]:65535"}) {
    const auto node = Parse(WithApi(R"({"listen": ")" + listen +
                                    R"(", "cert_file": "/c", "key_file": "/k", "client_ca_file": "/a"})"));
    ASSERT_TRUE(node) << node.error().message;
    EXPECT_EQ(node->api.listen, listen);
    EXPECT_EQ(node->api.client_ca_file, "/a");
  }
}

TEST(NodeConfig, RefusesAListenerThatIsNotOfMutualTls) {
  const auto why = [](const std::string& api) {
    const auto node = Parse(WithApi(api));
    return node ? "nothing" : node.error().message;
  };
  EXPECT_THAT(why(R"({"listen": "10.0.0.5:9443", "cert_file": "/c", "key_file": "/k"})"),
              HasSubstr("api.client_ca_file: is missing"));
  EXPECT_THAT(why(R"({"listen": "10.0.0.5:9443", "client_ca_file": "/a"})"),
              HasSubstr("api.cert_file: is missing"));
  EXPECT_THAT(why("{}"), HasSubstr("api.listen: is missing"));
  for (const std::string listen : {"10.0.0.5", ":9443", "host:9443", "::1:9443", "[10.0.0.5]:1", "10.0.0.5:0",
                                   "10.0.0.5:65536", "10.0.0.5:94x", "unix:/x", ""}) {
    EXPECT_THAT(why(R"({"listen": ")" + listen +
                    R"(", "cert_file": "/c", "key_file": "/k", "client_ca_file": "/a"})"),
                HasSubstr("api.listen"))
        << listen;
  }
}

std::string WithMetrics(const std::string& metrics) {
  std::string text(kMinimal);
  return text.substr(0, text.rfind('}')) + R"(, "metrics": )" + metrics + "}";
}

TEST(NodeConfig, ReadsWhereMetricsAreShown) {
  for (const std::string& without :
       {std::string(kMinimal), WithMetrics("{}"), WithMetrics("null"), WithMetrics(R"({"listen": ""})")}) {
    const auto node = Parse(without);
    ASSERT_TRUE(node) << node.error().message;
    EXPECT_EQ(node->metrics.listen, "");
  }
  for (const std::string listen : {"127.0.0.1:9477", "[::1]:9477", "[::]:65535"}) {
    const auto node = Parse(WithMetrics(R"({"listen": ")" + listen + R"("})"));
    ASSERT_TRUE(node) << node.error().message;
    EXPECT_EQ(node->metrics.listen, listen);
  }
}

TEST(NodeConfig, RefusesMetricsShownNowhereThatIsAnAddress) {
  for (const std::string metrics :
       {R"({"listen": "9477"})", R"({"listen": ":9477"})", R"({"listen": "localhost:9477"})",
        R"({"listen": "::1:9477"})", R"({"listen": "127.0.0.1:0"})", R"({"listen": 9477})",
        R"("127.0.0.1:9477")", R"({"address": "127.0.0.1:9477"})"}) {
    const auto node = Parse(WithMetrics(metrics));
    ASSERT_FALSE(node) << metrics;
    EXPECT_THAT(node.error().message, HasSubstr("metrics")) << metrics;
  }
}

TEST(NodeConfig, RefusesADuplicateKey) {
  const auto node = Parse(R"({"bgp": {"asn": 1, "asn": 2}})");
  ASSERT_FALSE(node);
  EXPECT_THAT(node.error().message, HasSubstr("\"asn\" stands twice"));
}

class File : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  void Write(std::string_view text) { std::ofstream(path_) << text; }
  const std::string path_ = ::testing::TempDir() + "railcni-node-" + std::to_string(::getpid()) + ".json";
};

TEST_F(File, IsLoaded) {
  Write(kMinimal);
  const auto node = Load(path_);
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->rails[0].name, "rail0");
}

TEST_F(File, IsNamedWhenItIsWrong) {
  Write("{}");
  const auto node = Load(path_);
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().code, Code::kInvalid);
  EXPECT_THAT(node.error().message, HasSubstr(path_ + ": "));
}

TEST_F(File, IsNamedWhenItIsNotThere) {
  const auto node = Load(path_);
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().code, Code::kNotFound);
  EXPECT_THAT(node.error().message, HasSubstr(path_));
}

}  // namespace
}  // namespace rail::config
