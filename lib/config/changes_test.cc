// Each key of node.json, changed alone, is one change of that name; what a restart waits for is fixed here.
#include "lib/config/changes.h"

#include <gmock/gmock.h>

#include <functional>

namespace rail::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

NodeConfig Node() {
  auto parsed = Parse(R"({
    "rails": [
      {"name": "rail0", "index": 0, "pf": "pf0", "bridge": "br0", "mtu": 4200,
       "devices": [{"device": "vf0", "representor": "rep0"}]},
      {"name": "rail1", "index": 1, "pf": "pf1", "bridge": "br1"}],
    "tenancy": {"tenants": {"red": ["a", "b"]}},
    "cluster": "c", "bgp": {"asn": 65001, "router_id": "10.0.0.1", "community_asn": 65000}})");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *parsed;
}

struct Edit {
  const char* key;
  Takes takes;
  std::function<void(NodeConfig&)> make;
};

const Edit kEdits[] = {
    {"cluster", Takes::kAtOnce, [](NodeConfig& c) { c.cluster.name = "d"; }},
    {"cluster_aliases", Takes::kAtOnce, [](NodeConfig& c) { c.cluster.aliases = {"d"}; }},
    {"rails[rail0].index", Takes::kRestart, [](NodeConfig& c) { c.rails[0].index = 7; }},
    {"rails[rail0].pf", Takes::kRestart, [](NodeConfig& c) { c.rails[0].pf = "x"; }},
    {"rails[rail0].bridge", Takes::kRestart, [](NodeConfig& c) { c.rails[0].bridge = "x"; }},
    {"rails[rail1].mtu", Takes::kRestart, [](NodeConfig& c) { c.rails[1].mtu = 9000; }},
    {"rails[rail0].devices", Takes::kAtOnce, [](NodeConfig& c) { c.rails[0].devices[0].device = "vf9"; }},
    {"rails[rail0].manage_sriov", Takes::kRestart, [](NodeConfig& c) { c.rails[0].manage_sriov = true; }},
    {"rails[rail0].num_vfs", Takes::kRestart, [](NodeConfig& c) { c.rails[0].num_vfs = 8; }},
    {"rails[rail0].flow_steering_mode", Takes::kRestart,
     [](NodeConfig& c) { c.rails[0].flow_steering = "dmfs"; }},
    {"rails[rail0].accept", Takes::kAtOnce,
     [](NodeConfig& c) { c.rails[0].accept.push_back(*IpPrefix::Parse("10.0.0.0/16")); }},
    {"rails[rail1]", Takes::kRestart, [](NodeConfig& c) { c.rails.pop_back(); }},
    {"rails[rail7]", Takes::kAtOnce, [](NodeConfig& c) { c.rails.push_back({.name = "rail7", .index = 7}); }},
    {"tenancy.mode", Takes::kRestart, [](NodeConfig& c) { c.tenancy.mode = TenancyMode::kOff; }},
    {"tenancy.tenants", Takes::kAtOnce, [](NodeConfig& c) { c.tenancy.tenants["red"].pop_back(); }},
    {"tenancy.cross_rail", Takes::kAtOnce, [](NodeConfig& c) { c.tenancy.cross_rail = false; }},
    {"tenancy.vlans", Takes::kAtOnce, [](NodeConfig& c) { c.tenancy.vlans.of_tenant["red"] = 7; }},
    {"bgp.manage", Takes::kRestart, [](NodeConfig& c) { c.bgp.manage = false; }},
    {"bgp.asn", Takes::kRestart, [](NodeConfig& c) { c.bgp.asn = 1; }},
    {"bgp.router_id", Takes::kRestart,
     [](NodeConfig& c) { c.bgp.router_id = *IpAddress::Parse("10.0.0.2"); }},
    {"bgp.community_asn", Takes::kRestart, [](NodeConfig& c) { c.bgp.community_asn = 1; }},
    {"bgp.bmp_port", Takes::kRestart, [](NodeConfig& c) { c.bgp.bmp_port = 1; }},
    {"bgp.max_prefixes", Takes::kAtOnce, [](NodeConfig& c) { c.bgp.max_prefixes = 1; }},
    {"rails[rail0].pods", Takes::kAtOnce,
     [](NodeConfig& c) { c.rails[0].pods.push_back(*IpPrefix::Parse("10.0.0.0/16")); }},
    {"pods.ipam", Takes::kAtOnce, [](NodeConfig& c) { c.pods.ipam = {"nv-ipam"}; }},
    {"pods.first_table", Takes::kAtOnce, [](NodeConfig& c) { c.pods.first_table = 7; }},
    {"pods.first_rule", Takes::kAtOnce, [](NodeConfig& c) { c.pods.first_rule = 7; }},
    {"frontend.links", Takes::kAtOnce, [](NodeConfig& c) { c.frontend.links = {"m1", "m2"}; }},
    {"frontend.addresses", Takes::kAtOnce,
     [](NodeConfig& c) { c.frontend.addresses = {*IpAddress::Parse("192.0.2.1")}; }},
    {"frontend.accept", Takes::kAtOnce,
     [](NodeConfig& c) { c.frontend.accept = {*IpPrefix::Parse("0.0.0.0/0")}; }},
    {"frontend.bfd", Takes::kAtOnce, [](NodeConfig& c) { c.frontend.bfd = true; }},
    {"ovs.db", Takes::kRestart, [](NodeConfig& c) { c.ovs.db_socket = "/x"; }},
    {"ovs.run_dir", Takes::kRestart, [](NodeConfig& c) { c.ovs.run_dir = "/x"; }},
    {"ovs.remove_foreign_flows", Takes::kAtOnce, [](NodeConfig& c) { c.ovs.remove_foreign_flows = true; }},
    {"ovs.manage_bridges", Takes::kRestart, [](NodeConfig& c) { c.ovs.manage_bridges = false; }},
    {"ovs.datapath", Takes::kRestart, [](NodeConfig& c) { c.ovs.datapath = "netdev"; }},
    {"api.listen", Takes::kAtOnce, [](NodeConfig& c) { c.api.listen = "127.0.0.1:1"; }},
    {"api.cert_file", Takes::kAtOnce, [](NodeConfig& c) { c.api.cert_file = "/x"; }},
    {"api.key_file", Takes::kAtOnce, [](NodeConfig& c) { c.api.key_file = "/x"; }},
    {"api.client_ca_file", Takes::kAtOnce, [](NodeConfig& c) { c.api.client_ca_file = "/x"; }},
    {"metrics.listen", Takes::kAtOnce, [](NodeConfig& c) { c.metrics.listen = "127.0.0.1:1"; }},
    {"kubernetes.tenants", Takes::kAtOnce, [](NodeConfig& c) { c.kubernetes.tenants = true; }},
    {"kubernetes.tenant_label", Takes::kAtOnce, [](NodeConfig& c) { c.kubernetes.tenant_label = "x"; }},
    {"kubernetes.report", Takes::kAtOnce, [](NodeConfig& c) { c.kubernetes.report = true; }},
    {"kubernetes.api", Takes::kAtOnce, [](NodeConfig& c) { c.kubernetes.api = "https://x:1"; }},
    {"kubelet.device_plugin", Takes::kAtOnce, [](NodeConfig& c) { c.kubelet.device_plugin = true; }},
    {"kubelet.dra", Takes::kAtOnce, [](NodeConfig& c) { c.kubelet.dra = true; }},
    {"kubelet.resource", Takes::kAtOnce, [](NodeConfig& c) { c.kubelet.resource = "x.io/{rail}"; }},
    {"kubelet.grace_s", Takes::kAtOnce, [](NodeConfig& c) { c.kubelet.grace_s = 7; }},
    {"kubelet.folder", Takes::kAtOnce, [](NodeConfig& c) { c.kubelet.folder = "/x"; }},
    {"kubelet.libraries", Takes::kAtOnce, [](NodeConfig& c) { c.kubelet.libraries = false; }},
    {"metrics.pods", Takes::kAtOnce, [](NodeConfig& c) { c.metrics.pods = true; }},
    {"bursts.every_ms", Takes::kAtOnce, [](NodeConfig& c) { c.bursts.every_ms = 10; }},
    {"bursts.line_rate_mbit", Takes::kAtOnce, [](NodeConfig& c) { c.bursts.line_rate_mbit = 7; }},
    {"frr.run_dir", Takes::kRestart, [](NodeConfig& c) { c.frr.run_dir = "/x"; }},
};

TEST(Changes, AreNoneWhereTheFileMeansTheSame) {
  EXPECT_THAT(Changes(Node(), Node()), IsEmpty());
  EXPECT_EQ(Keys({}), "");
}

TEST(Changes, NameEachKey) {
  for (const Edit& edit : kEdits) {
    NodeConfig now = Node();
    edit.make(now);
    EXPECT_THAT(Changes(Node(), now), ElementsAre(Change{edit.key, edit.takes})) << edit.key;
  }
}

TEST(Changes, AreInTheOrderOfTheKeys) {
  NodeConfig now = Node();
  now.frr.run_dir = "/x";
  now.bgp.asn = 1;
  now.rails[1].mtu = 9000;
  EXPECT_EQ(Keys(Changes(Node(), now)), "rails[rail1].mtu, bgp.asn, frr.run_dir");
}

}  // namespace
}  // namespace rail::config
