// A node that is well has no findings; each thing that is wrong has its own.
#include "lib/inspect/doctor/doctor.h"

#include <gmock/gmock.h>

#include <set>

#include "lib/engine/attach/pipeline.h"
#include "lib/inspect/doctor/testing/fixture.h"
#include "lib/pcie/testing/tree.h"

namespace rail::inspect {
namespace {

using testing::HasSubstr;

constexpr int64_t kNow = 1767323045000, kDay = 86400000;

LinkFacts GoodLink() {
  return {.there = true,
          .up = true,
          .carrier = true,
          .mtu = 4200,
          .has_link_local = true,
          .disable_ipv6 = "1",
          .accept_ra = "0"};
}

}  // namespace

// Offloading, announced, pushed to, in time.
NodeFacts Well() {
  NodeFacts facts{.now_ms = kNow};
  facts.config.ovs.datapath = "system";
  facts.config.ovs.manage_bridges = true;
  facts.config.bgp.community_asn = 4200000000;
  facts.config.tenancy.tenants = {{"red", {"ns"}}};
  facts.config.rails = {{.name = "rail0", .index = 0, .pf = "pf0", .bridge = "br-rail0", .mtu = 4200}};
  facts.other_config = {{"hw-offload", "true"}, {"max-idle", "60000"}, {"min-revalidate-pps", "0"}};
  facts.datapaths = {{.name = "system@ovs-system", .flows = 72, .limit = 200000}};
  facts.megaflows = 8;
  RailFacts& rail = facts.rails["rail0"];
  rail.bridge = ovs::Bridge{.name = "br-rail0", .datapath = "system", .fail_mode = "secure"};
  rail.bridge->disable_in_band = ovs::kNoInBand;
  rail.bridge->prefixes = pipeline::TrackedPrefixes();
  rail.bridge->ports = {{.bridge = "br-rail0", .name = "br-rail0", .ofport = 65534},
                        {.bridge = "br-rail0", .name = "pf0", .ofport = 1},
                        {.bridge = "br-rail0", .name = "rep0", .ofport = 2}};
  rail.uplink = rail.local = rail.representors["rep0"] = GoodLink();
  rail.local.disable_ipv6 = "0";

  engine::RailView& shown = facts.view.rails.emplace_back();
  shown.rail = facts.config.rails[0];
  shown.seen.set_bgp_state("Established");
  shown.seen.set_leaf_mac("02:00:00:00:0f:00");
  facts.view.version = 1;
  facts.view.bmp_up = true;
  facts.view.health = {{{engine::Part::kRail, "rail0"}, true, "", 0}};
  engine::AttachmentView& pod = facts.view.attachments.emplace_back();
  pod.rules_in_place = true;
  pod.attachment.phase = state::Phase::kReady;
  pod.attachment.pod_namespace = "ns";
  pod.attachment.pod_name = "a";
  pod.attachment.key.ifname = "net1";
  pod.attachment.rail = "rail0";
  pod.attachment.representor = "rep0";
  pod.attachment.tenant = "red";
  pod.attachment.tenant_id = tenancy::NamedTenant(facts.config, "red").id;
  pod.attachment.announced = true;
  pod.attachment.created_ms = kNow - kDay;
  facts.record_path = "/var/lib/railcni/state.db";
  facts.record_file = {true, 0600};
  facts.record_free_bytes = uint64_t{1} << 40;
  facts.view.rdma = engine::RdmaMode::kExclusive;
  facts.rdma_guids = {{"mlx5_0", "0c42:a103:0065:bafe"}, {"mlx5_1", "0c42:a103:0065:baff"}, {"unknown", ""}};
  facts.certificates.push_back(
      {"/etc/railcni/api.crt", "the API's certificate", Validity{kNow - kDay, kNow + 90 * kDay, "CN=x"}});
  return facts;
}

namespace {

v1::FrontendLink& AddLink(NodeFacts& f, const std::string& name) {
  v1::FrontendLink& link = *f.frontend.add_frontend_links();
  link.set_name(name);
  link.set_connected(true);
  return link;
}

v1::FrontendLink& Front(NodeFacts& f, int i) {
  f.config.frontend.links = {"mgmt1", "mgmt2"};
  f.config.frontend.addresses = {*IpAddress::Parse("192.0.2.1")};
  for (const std::string& name : f.config.frontend.links) {
    if (f.frontend.frontend_links_size() < 2) AddLink(f, name).add_default_routes("ipv4");
  }
  return *f.frontend.mutable_frontend_links(i);
}

struct Ill {
  const char* id;
  Severity severity;
  const char* words;  // of `what`
  void (*spoil)(NodeFacts&);
};

const Error kDown{Code::kTransient, "connection refused", 0};

state::Attachment& Pod(NodeFacts& f) {
  return f.view.attachments[0].attachment;
}

// Of the uplink's priorities.
void Differs(NodeFacts& f, const std::string& id) {
  f.rails["rail0"].lossless = {{id, id + " of pf0", "w", "f"}};
}

// The pod's VF is beside GPU 0000:1b:00.0, and it has the GPU with this address.
void PairWith(NodeFacts& f, const char* gpu) {
  f.machinery.machine = pcie::testing::Tree(pcie::testing::Tree::File("8-gpus-8-nics")).machine();
  f.machinery.gpus_of_pods = GpusOfPods{{{"ns", "a"}, {gpu}}};
  Pod(f).device = "0000:18:00.1";
}

const Ill kIlls[] = {
    {"ovsdb-down", Severity::kCritical, "connection refused", [](NodeFacts& f) { f.ovsdb_down = kDown; }},
    {"vswitchd-down", Severity::kCritical, "connection refused",
     [](NodeFacts& f) { f.vswitchd_down = kDown; }},
    {"hw-offload-off", Severity::kWarning, "is not set",
     [](NodeFacts& f) { f.other_config.erase("hw-offload"); }},
    {"userspace-datapath", Severity::kWarning, "userspace",
     [](NodeFacts& f) { f.config.ovs.datapath = "netdev"; }},
    {"max-idle-short", Severity::kWarning, "10 s without a packet (the default)",
     [](NodeFacts& f) { f.other_config.erase("max-idle"); }},
    {"max-idle-long", Severity::kWarning, "stay for 600 s",
     [](NodeFacts& f) { f.other_config["max-idle"] = "600000"; }},
    {"pod-floods", Severity::kWarning, "1000 datapath flows drop what the pod sends through rep0",
     [](NodeFacts& f) { f.dropping_megaflows["rep0"] = 1000; }},
    {"masks-many", Severity::kWarning, "33 masks of ipv6; flows from rep0 have 33 of them",
     [](NodeFacts& f) { AddMasks(f, 33); }},
    {"prefixes-not-tracked", Severity::kWarning, "br-rail0 does not track prefixes as its tables need it",
     [](NodeFacts& f) { f.rails["rail0"].bridge->prefixes.erase(5); }},
    {"min-revalidate-pps", Severity::kInfo, "5, the default",
     [](NodeFacts& f) { f.other_config.erase("min-revalidate-pps"); }},
    {"flow-limit-near", Severity::kWarning, "190000 datapath flows of at most 200000",
     [](NodeFacts& f) { f.datapaths[0].flows = 190000; }},
    {"flow-limit-low", Severity::kWarning, "lets 14000 flows into the datapath, and 200000 are configured",
     [](NodeFacts& f) { f.datapaths[0].limit = 14000; }},
    {"megaflows-in-software", Severity::kWarning, "3 of 8",
     [](NodeFacts& f) { f.megaflows_in_software = 3; }},
    {"bridge-missing", Severity::kCritical, "no bridge br-rail0",
     [](NodeFacts& f) { f.rails["rail0"].bridge.reset(); }},
    {"fail-mode-not-secure", Severity::kCritical, "standalone, not secure",
     [](NodeFacts& f) { f.rails["rail0"].bridge->fail_mode = ""; }},
    {"in-band-rules", Severity::kCritical, "br-rail0 lets Open vSwitch add rules of its own",
     [](NodeFacts& f) { f.rails["rail0"].bridge->disable_in_band = "false"; }},
    {"uplink-not-in-bridge", Severity::kCritical, "pf0 is not a port",
     [](NodeFacts& f) { f.rails["rail0"].bridge->ports.erase(f.rails["rail0"].bridge->ports.begin() + 1); }},
    {"uplink-not-working", Severity::kCritical, "No such device",
     [](NodeFacts& f) {
       f.rails["rail0"].bridge->ports[1].ofport = -1;
       f.rails["rail0"].bridge->ports[1].error = "No such device";
     }},
    {"foreign-port", Severity::kInfo, "port tap7",
     [](NodeFacts& f) {
       f.rails["rail0"].bridge->ports.push_back({.bridge = "br-rail0", .name = "tap7", .ofport = 9});
     }},
    {"port-not-working", Severity::kCritical, "its port rep0: No such device",
     [](NodeFacts& f) {
       f.rails["rail0"].bridge->ports[2].ofport = -1;
       f.rails["rail0"].bridge->ports[2].error = "No such device";
       f.view.attachments[0].rules_in_place = false;  // said once
     }},
    {"foreign-flows", Severity::kCritical,
     "a flow of bridge br-rail0 is not RailCNI's: table=0,priority=60000,cookie=0x0,ip actions=output:5",
     [](NodeFacts& f) {
       f.rails["rail0"].foreign_flows = 1;
       f.rails["rail0"].foreign_examples = {{0, 60000, 0, "ip", "output:5"}};
     }},
    {"representor-down", Severity::kCritical, "rep0 is set down",
     [](NodeFacts& f) {
       f.rails["rail0"].representors["rep0"].up = f.rails["rail0"].representors["rep0"].carrier = false;
     }},
    {"representor-without-carrier", Severity::kCritical, "rep0 has no carrier",
     [](NodeFacts& f) { f.rails["rail0"].representors["rep0"].carrier = false; }},
    {"uplink-missing", Severity::kCritical, "no link pf0",
     [](NodeFacts& f) { f.rails["rail0"].uplink = {}; }},
    {"uplink-down", Severity::kCritical, "pf0 is down",
     [](NodeFacts& f) { f.rails["rail0"].uplink.up = false; }},
    {"uplink-without-carrier", Severity::kCritical, "no carrier",
     [](NodeFacts& f) { f.rails["rail0"].uplink.carrier = false; }},
    {"uplink-has-address", Severity::kWarning, "10.0.0.1/24",
     [](NodeFacts& f) { f.rails["rail0"].uplink.addresses = {"10.0.0.1/24"}; }},
    {"uplink-ipv6-enabled", Severity::kInfo, "pf0",
     [](NodeFacts& f) { f.rails["rail0"].uplink.disable_ipv6 = "0"; }},
    {"lossless-pfc", Severity::kWarning, "pfc", [](NodeFacts& f) { Differs(f, "lossless-pfc"); }},
    {"lossless-trust", Severity::kWarning, "trust", [](NodeFacts& f) { Differs(f, "lossless-trust"); }},
    {"lossless-dscp", Severity::kWarning, "dscp", [](NodeFacts& f) { Differs(f, "lossless-dscp"); }},
    {"lossless-traffic-class", Severity::kWarning, "traffic-class",
     [](NodeFacts& f) { Differs(f, "lossless-traffic-class"); }},
    {"lossless-neighbour", Severity::kWarning, "neighbour",
     [](NodeFacts& f) { Differs(f, "lossless-neighbour"); }},
    {"lossless-ecn", Severity::kWarning, "ecn", [](NodeFacts& f) { Differs(f, "lossless-ecn"); }},
    {"lossless-tos", Severity::kWarning, "tos", [](NodeFacts& f) { Differs(f, "lossless-tos"); }},
    {"lossless-unknown", Severity::kWarning, "unknown", [](NodeFacts& f) { Differs(f, "lossless-unknown"); }},
    {"nic-without-vfs", Severity::kWarning, "0000:3b:00.0",
     [](NodeFacts& f) { f.rails["rail0"].nic = {{.address = "0000:3b:00.0"}}; }},
    {"nic-not-in-switchdev", Severity::kCritical, "has 8 VFs and its eSwitch is in legacy mode",
     [](NodeFacts& f) {
       f.rails["rail0"].nic = {{.address = "0000:3b:00.0", .vfs = 8, .mode = netlink::EswitchMode::kLegacy}};
     }},
    {"local-ipv6-disabled", Severity::kCritical, "IPv6 is disabled on br-rail0",
     [](NodeFacts& f) {
       f.rails["rail0"].local.disable_ipv6 = "1";
       f.rails["rail0"].local.has_link_local = false;
     }},
    {"local-no-link-local", Severity::kCritical, "no IPv6 link-local address",
     [](NodeFacts& f) { f.rails["rail0"].local.has_link_local = false; }},
    {"local-accepts-ra", Severity::kWarning, "router advertisements",
     [](NodeFacts& f) { f.rails["rail0"].local.accept_ra = "1"; }},
    {"mtu-below-roce", Severity::kWarning, "MTU is 1500, below 4192",
     [](NodeFacts& f) { f.config.rails[0].mtu = 1500; }},
    {"mtu-too-small", Severity::kCritical, "rep0 has MTU 1500",
     [](NodeFacts& f) { f.rails["rail0"].representors["rep0"].mtu = 1500; }},
    {"links-unknown", Severity::kWarning, "connection refused",
     [](NodeFacts& f) { f.links_unknown = kDown; }},
    {"bgpd-down", Severity::kCritical, "connection refused", [](NodeFacts& f) { f.bgpd_down = kDown; }},
    {"bgp-session-down", Severity::kCritical, "is Active",
     [](NodeFacts& f) { EndSession(f, frr::Attempt::kNone); }},
    {"bgp-shutdown-here", Severity::kCritical, "it is shut down in this node's bgpd",
     [](NodeFacts& f) {
       EndSession(f, frr::Attempt::kRefused);
       f.sessions = {
           f.view.rails[0].sessions.at("br-rail0")};  // bgpd says it at once, and raild's view does not yet
       f.sessions[0].shut_down = true;
     }},
    {"leaf-refuses-bgp", Severity::kCritical, "refuses TCP port 179",
     [](NodeFacts& f) { EndSession(f, frr::Attempt::kRefused); }},
    {"leaf-silent", Severity::kCritical, "does not answer TCP port 179",
     [](NodeFacts& f) { EndSession(f, frr::Attempt::kSilent); }},
    {"firewall-drops-bgp", Severity::kCritical, "does not answer TCP port 179",
     [](NodeFacts& f) {
       EndSession(f, frr::Attempt::kSilent);
       f.drop_rules = {
           {.family = "ip6", .table = "filter", .chain = "INPUT", .packets = 3, .names_bgp = true}};
     }},
    {"leaf-rejects-bgp", Severity::kCritical, "ends it at once",
     [](NodeFacts& f) {
       EndSession(f, frr::Attempt::kClosed);
       f.sessions = {f.view.rails[0].sessions.at("br-rail0")};
       f.sessions[0].attempt = frr::Attempt::kNone;  // raild has seen it, bgpd has not
     }},
    {"bgp-wrong-as", Severity::kCritical, "the leaf expects another AS",
     [](NodeFacts& f) {
       EndSession(f, frr::Attempt::kTalked, frr::Notification{2, 2, true, "OPEN Message Error/Bad Peer AS"});
     }},
    {"bgp-max-prefixes", Severity::kCritical, "too many prefixes",
     [](NodeFacts& f) {
       EndSession(f, frr::Attempt::kTalked,
                  frr::Notification{6, 1, false, "Cease/Maximum Number of Prefixes Reached"});
     }},
    {"bgp-hold-timer", Severity::kCritical, "longer than the hold timer allows",
     [](NodeFacts& f) {
       EndSession(f, frr::Attempt::kTalked, frr::Notification{4, 0, false, "Hold Timer Expired"});
     }},
    {"rails-swapped", Severity::kWarning,
     "rail0 and rail1 are swapped: pf0 leads to leaf11 (AS 11), which 2 nodes have",
     [](NodeFacts& f) { Cable(f, {11, 10}, {{2, {10, 11}}, {3, {10, 11}}}); }},
    {"rails-on-one-leaf", Severity::kWarning, "rail1 and rail0 lead to one leaf, leaf10 (AS 10)",
     [](NodeFacts& f) { Cable(f, {10, 10}, {{2, {10, 11}}}); }},
    {"rail-on-other-leaf", Severity::kWarning,
     "rail1 leads to leaf12 (AS 12), which 2 nodes have (AS 2) on rail 2",
     [](NodeFacts& f) { Cable(f, {10, 12}, {{2, {10, 11, 12}}, {3, {10, 11, 12}}}); }},
    {"address-by-other-rail", Severity::kWarning,
     "addresses of rail1 of the node AS 2 come straight from leaf11 (AS 11)",
     [](NodeFacts& f) { Cable(f, {11, 10}, {{2, {10, 11}}}); }},
    {"leaf-in-two-units", Severity::kWarning, "rail1 leads to leaf21 (AS 21), in the unit of the node AS 3",
     [](NodeFacts& f) { Cable(f, {10, 21}, {{2, {10, 11}}, {3, {20, 21}}}); }},
    {"remote-on-other-leaf", Severity::kWarning, "the node AS 3 has rail0 and rail1 swapped",
     [](NodeFacts& f) { Cable(f, {10, 11}, {{2, {10, 11}}, {3, {11, 10}}}); }},
    {"leaf-as-unlike-siblings", Severity::kWarning,
     "the leaf of rail1 has the AS 11, and those of most rails",
     [](NodeFacts& f) { Cable(f, {10, 11, 10}, {}); }},
    {"rail-mtu-unlike-siblings", Severity::kWarning, "pods have MTU 4200 on rail0",
     [](NodeFacts& f) {
       Cable(f, {10, 11}, {});
       f.config.rails[1].mtu = f.rails["rail1"].uplink.mtu = 9000;
     }},
    {"uplink-speed-unlike-siblings", Severity::kWarning, "the uplink pf0 runs at 100000 Mbit/s",
     [](NodeFacts& f) {
       Cable(f, {10, 11}, {});
       f.rails["rail0"].speed_mbit = 100000;
       f.rails["rail1"].speed_mbit = 400000;
     }},
    {"bmp-missing", Severity::kCritical, "does not push", [](NodeFacts& f) { f.view.bmp_up = false; }},
    {"bmp-sessions-alike", Severity::kWarning, "tell them apart",
     [](NodeFacts& f) { f.view.bmp_ambiguous = true; }},
    {"prefixes-near-limit", Severity::kWarning, "192001 prefixes of one family; bgp.max_prefixes is 256000",
     [](NodeFacts& f) { f.view.rails[0].most_prefixes = 192001; }},
    {"prefixes-above-limit", Severity::kCritical, "256001 prefixes of one family; bgp.max_prefixes is 256000",
     [](NodeFacts& f) { f.view.rails[0].most_prefixes = 256001; }},
    {"own-address-announced-elsewhere", Severity::kCritical,
     "10.0.3.1 is also announced by AS 7 for tenant blue: two claim it",
     [](NodeFacts& f) {
       f.view.attachments[0].elsewhere = {
           {.address = *IpAddress::Parse("10.0.3.1"), .other_tenant = true, .by = "AS 7 for tenant blue"}};
     }},
    {"leaf-strips-communities", Severity::kCritical,
     "3 addresses of this node's pods back without their large communities, "
     "10.0.3.1 for one",
     [](NodeFacts& f) {
       f.view.rails[0].seen.set_stripped(3);
       f.view.rails[0].stripped_example = *IpAddress::Parse("10.0.3.1");
     }},
    {"leaf-mtu-too-small", Severity::kCritical, "packets of 1500 bytes and not of 4200",
     [](NodeFacts& f) { f.rails["rail0"].leaf = {.full_size = 4200, .small_size = 1500, .small = true}; }},
    {"frontend-leak", Severity::kCritical, "told 1 prefixes that are no address of this node: 10.0.3.7/32",
     [](NodeFacts& f) { Front(f, 0).add_leaked("10.0.3.7/32"); }},
    {"frontend-session-down", Severity::kWarning, "the leaf refuses",
     [](NodeFacts& f) {
       Front(f, 1).set_connected(false);
       f.config.frontend.links.push_back("mgmt3");
       AddLink(f, "mgmt3");
       Front(f, 1).set_bgp_problem("the leaf refuses");
     }},
    {"frontend-not-redundant", Severity::kCritical, "1 of 2 sessions of the front end is Established",
     [](NodeFacts& f) { Front(f, 1).set_connected(false); }},
    {"frontend-address-not-told", Severity::kCritical, "is not told 192.0.2.1",
     [](NodeFacts& f) { Front(f, 0).add_not_told("192.0.2.1"); }},
    {"frontend-default-route", Severity::kWarning, "default route (ipv6) does not go out here",
     [](NodeFacts& f) { Front(f, 1).add_missing_default_routes("ipv6"); }},
    {"frontend-stray-route", Severity::kCritical, "default route (ipv6) goes out here, and bgpd uses no path",
     [](NodeFacts& f) { Front(f, 0).add_stray_default_routes("ipv6"); }},
    {"frontend-without-bfd", Severity::kWarning, "bfdd does not answer",
     [](NodeFacts& f) {
       Front(f, 0);
       f.frontend.set_frontend_bfd_problem("frontend.bfd is true, and bfdd does not answer in /run/frr");
     }},
    {"zebra-down", Severity::kCritical, "zebra does not answer: connection refused",
     [](NodeFacts& f) { f.zebra_down = kDown; }},
    {"no-leaf-neighbour", Severity::kCritical, "has not been heard",
     [](NodeFacts& f) { f.view.rails[0].seen.clear_leaf_mac(); }},
    {"config-unreadable", Severity::kCritical, "bgp.as: unknown key",
     [](NodeFacts& f) { f.config_error = Error{Code::kInvalid, "node.json: bgp.as: unknown key", 0}; }},
    {"config-newer-than-raild", Severity::kWarning, "than raild runs by: bgp.asn, tenancy.tenants",
     [](NodeFacts& f) {
       f.config_changes = {{"bgp.asn", config::Takes::kRestart}, {"tenancy.tenants", config::Takes::kAtOnce}};
       f.view.health.push_back({engine::Part::kNodeFile, false, "it waits", 1});  // said once
     }},
    {"raild-down", Severity::kCritical, "nobody serves its sockets",
     [](NodeFacts& f) {
       f.start = StartFacts{.log = "journalctl -u raild", .start = "systemctl start raild", .obstacles = {}};
     }},
    {"record-unreadable", Severity::kCritical, "connection refused",
     [](NodeFacts& f) { f.record_error = kDown; }},
    {"record-readable", Severity::kWarning, "mode 0604", [](NodeFacts& f) { f.record_file.mode = 0604; }},
    {"record-no-space", Severity::kCritical, "the file system of /var/lib/railcni/state.db has 3 MB left",
     [](NodeFacts& f) { f.record_free_bytes = 3 << 20; }},
    {"rdma-shared", Severity::kWarning, "shared",
     [](NodeFacts& f) { f.view.rdma = engine::RdmaMode::kShared; }},
    {"cross-rail-off", Severity::kInfo, "the same rail alone",
     [](NodeFacts& f) { f.config.tenancy.cross_rail = false; }},
    {"rdma-missing", Severity::kInfo, "no RDMA", [](NodeFacts& f) { f.view.rdma = engine::RdmaMode::kNone; }},
    {"rdma-guid-zero", Severity::kWarning,
     "GUID of 6 RDMA devices is zero: mlx5_2, mlx5_3, mlx5_4, mlx5_5 and 2 more",
     [](NodeFacts& f) {
       for (const char* vf : {"mlx5_2", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7"})
         f.rdma_guids.push_back({vf, "0000:0000:0000:0000"});
     }},
    {"rdma-guid-twice", Severity::kWarning,
     "2 RDMA devices have the node GUID 0252:41ff:fe00:0001: mlx5_2, mlx5_3",
     [](NodeFacts& f) {
       f.rdma_guids.push_back({"mlx5_2", "0252:41ff:fe00:0001"});
       f.rdma_guids.push_back({"mlx5_3", "0252:41ff:fe00:0001"});
     }},
    {"certificate-unreadable", Severity::kCritical, "connection refused",
     [](NodeFacts& f) { f.certificates[0].validity = tl::make_unexpected(kDown); }},
    {"certificate-not-yet-valid", Severity::kCritical, "becomes valid in 2 h",
     [](NodeFacts& f) { f.certificates[0].validity->from_ms = kNow + 3600001; }},
    {"certificate-expired", Severity::kCritical, "expired 2 days ago",
     [](NodeFacts& f) { f.certificates[0].validity->until_ms = kNow - 2 * kDay; }},
    {"certificate-expires-soon", Severity::kWarning, "expires in 3 days",
     [](NodeFacts& f) { f.certificates[0].validity->until_ms = kNow + 3 * kDay; }},
    {"pending-work", Severity::kWarning, "bgpd is down",
     [](NodeFacts& f) { f.view.attachments[0].pending = "bgpd is down"; }},
    {"delete-unfinished", Severity::kInfo, "has begun",
     [](NodeFacts& f) { Pod(f).phase = state::Phase::kDeleting; }},
    {"add-died", Severity::kWarning, "5 min ago",
     [](NodeFacts& f) {
       Pod(f).phase = state::Phase::kAdding;
       Pod(f).created_ms = kNow - 300000;
     }},
    {"attachment-differs", Severity::kCritical,
     "inside the pod, net1: 1; net1: 2; net1: 3; net1: 4; and 1 more (`railctl check`)",
     [](NodeFacts& f) {
       for (const char* what : {"net1: 1", "net1: 2", "net1: 3", "net1: 4", "net1: 5"})
         f.pods.differ[Pod(f).id].push_back({what, "ip link"});
     }},
    {"gid-moved", Severity::kWarning, "GID a has index 5 now, it had 3; GID b is gone",
     [](NodeFacts& f) { f.pods.moved_gids[Pod(f).id] = {"GID a has index 5 now, it had 3", "GID b is gone"}; }},
    {"pods-not-looked-into", Severity::kInfo, "3 of 8 pods were not looked into: there was no time",
     [](NodeFacts& f) {
       f.pods.looked = 5;
       f.pods.not_looked = 3;
     }},
    {"rules-missing", Severity::kCritical, "not all",
     [](NodeFacts& f) { f.view.attachments[0].rules_in_place = false; }},
    {"device-lost", Severity::kCritical, "vf0 is not in the pod any more",
     [](NodeFacts& f) {
       Pod(f).device = "vf0";
       f.view.attachments[0].device_lost = true;
       f.view.attachments[0].rules_in_place = false;  // said once
     }},
    {"nic-reset", Severity::kCritical, "2 pods have lost their devices of this rail: its NIC pf0 was reset",
     [](NodeFacts& f) {
       f.view.attachments[0].device_lost = true;
       f.view.attachments.push_back(f.view.attachments[0]);
     }},
    {"rules-unknown", Severity::kWarning, "is not known since 2026-01-02 03:04:05 UTC: no answer in time",
     [](NodeFacts& f) {
       f.view.rails[0].seen.set_unseen("no answer in time");
       f.view.rails[0].seen.mutable_unseen_since()->set_seconds(kNow / 1000);
       f.view.attachments[0].rules_unknown_since_ms = kNow;
       f.view.attachments[0].rules_in_place = false;  // nobody could look
     }},
    {"withdrawn", Severity::kWarning, "has withdrawn its addresses: no carrier",
     [](NodeFacts& f) { f.view.attachments[0].withdrawn = "no carrier"; }},
    {"namespaces-not-visible", Severity::kCritical, "of 1 of 1 attachments",
     [](NodeFacts& f) { f.view.attachments[0].namespace_unseen = "mount it"; }},
    {"record-lost", Severity::kCritical,
     "3 interfaces of pods live that the record does not know (3 on rail0)",
     [](NodeFacts& f) { f.view.rails[0].seen.set_unrecorded_pods(3); }},
    {"no-tenant", Severity::kCritical, "no tenant", [](NodeFacts& f) { Pod(f).tenant_id = {}; }},
    {"gpu-far-from-nic", Severity::kWarning, "a VF of rail7 would be",
     [](NodeFacts& f) { PairWith(f, "0000:df:00.0"); }},
    {"pod-gpus-not-known", Severity::kInfo, "connection refused",
     [](NodeFacts& f) {
       PairWith(f, "0000:1b:00.0");
       f.machinery.gpus_of_pods = tl::make_unexpected(kDown);
     }},
    {"gpus-without-nic", Severity::kInfo, "1 of 8 GPUs",
     [](NodeFacts& f) {
       PairWith(f, "0000:1b:00.0");
       f.machinery.machine.nics.pop_back();
     }},
    {"tenant-changed", Severity::kWarning, "the pod is in tenant red",
     [](NodeFacts& f) { Pod(f).tenant_id = {0, 7}; }},
    {"not-announced", Severity::kWarning, "not announced", [](NodeFacts& f) { Pod(f).announced = false; }},
    {"part-failing", Severity::kWarning, "disk on fire (7 rounds so far)",
     [](NodeFacts& f) { f.view.health[0] = {{engine::Part::kRail, "rail0"}, false, "disk on fire", 7}; }},
    {"tenants-not-known", Severity::kCritical, "never had the list of the cluster's namespaces: 403",
     [](NodeFacts& f) { f.view.tenant_list = {.wanted = true, .example = {}, .problem = "403"}; }},
    {"api-server-away", Severity::kWarning, "not followed the API server for 61 s: no route",
     [](NodeFacts& f) {
       f.view.tenant_list = {.wanted = true, .known = true, .example = {}, .problem = "no route"};
       f.tenants_stale = std::chrono::seconds(61);
     }},
    {"tenant-label-invalid", Severity::kWarning, "of 2 namespaces cannot be a tenant, one of them x",
     [](NodeFacts& f) {
       f.view.tenant_list = {.wanted = true, .known = true, .invalid = 2, .example = "x", .problem = {}};
     }},
    {"tenant-unused", Severity::kInfo, "no pod of its namespaces (n-s, m-s)",
     [](NodeFacts& f) { f.config.tenancy.tenants["green"] = {"n-s", "m-s"}; }},
};

class DoctorFinds : public testing::TestWithParam<Ill> {};

TEST_P(DoctorFinds, JustThat) {
  const Ill& ill = GetParam();
  NodeFacts facts = Well();
  ill.spoil(facts);
  const std::vector<Finding> findings = Diagnose(facts);
  ASSERT_EQ(findings.size(), 1U) << (findings.empty() ? "nothing" : findings[1].id);
  EXPECT_EQ(findings[0].id, ill.id);
  EXPECT_EQ(findings[0].severity, ill.severity);
  EXPECT_THAT(findings[0].what, HasSubstr(ill.words));
  EXPECT_NE(findings[0].subject, "");
  EXPECT_NE(findings[0].why, "");
  EXPECT_NE(findings[0].fix, "");
}

INSTANTIATE_TEST_SUITE_P(Each, DoctorFinds, testing::ValuesIn(kIlls), [](const auto& ill) {
  std::string name = ill.param.id;
  std::erase(name, '-');
  return name;
});

TEST(Doctor, HasATestForEachOfItsFindings) {
  std::set<std::string> tested = {"raild-cannot-start", "max-revalidator-short"};
  for (const Ill& ill : kIlls) tested.insert(ill.id);
  for (const auto& others : {FindingsOfBgp(), FindingsOfCounters(), FindingsOfPlanes(), FindingsOfRates(),
                             FindingsOfTenants(), FindingsOfRequests(), FindingsOfVlans()})
    tested.insert(others.begin(), others.end());
  EXPECT_EQ(tested.size(), KindsOfFindings().size());
}

}  // namespace
}  // namespace rail::inspect
