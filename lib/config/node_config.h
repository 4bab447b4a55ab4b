// node.json: the configuration of a node's rails, tenants, BGP, Open vSwitch and FRR.
//
// Use:      RAIL_ASSIGN(NodeConfig node, config::Load(Paths::FromEnvironment().config_file));
//           const Rail* rail = node.FindRail("rail0");
// Threads:  values
// Source:   README.md of this folder (every key, its default and range)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/address.h"
#include "lib/base/error.h"
#include "lib/config/bursts.h"
#include "lib/config/frontend.h"
#include "lib/config/lossless.h"
#include "lib/config/planes.h"
#include "lib/config/rates.h"
#include "lib/config/topology.h"
#include "lib/config/vlans.h"

namespace rail::config {

// Where the files of a node are. RAILCNI_ROOT in the environment of the *process* prefixes all of them; a pod cannot
// reach that environment.
struct Paths {
  std::string config_file;   // <root>/etc/railcni/node.json
  std::string state_file;    // <root>/var/lib/railcni/state.db
  std::string tenants_file;  // <root>/var/lib/railcni/tenants.json: what namespaces are labelled with
  std::string origin_file;   // <root>/var/lib/railcni/origin.json   what was there before
  std::string
      good_rails_file;  // <root>/var/lib/railcni/good-rails.json   which rails were good (engine/good_rails)
  std::string leaves_file;  // <root>/var/lib/railcni/leaves.json   the leaves of the rails (engine/leaves)
  std::string labels_file;  // <root>/var/lib/railcni/labels.json   the node's labels that raild has written
  std::string socket;       // <root>/run/railcni/raild.sock   gRPC
  std::string wake_socket;  // <root>/run/railcni/wake.sock    datagrams "state.db changed"
  std::string sysfs = "/sys";  // RAILCNI_SYSFS: where raild's container has the host's; tests

  static Paths Under(std::string_view root);
  static Paths FromEnvironment();
};

// A device of backend `netdev`: a link on the host that becomes a pod's interface, and the link that stands for it in OVS.
struct DeviceEntry {
  std::string device;
  std::string representor;
};

inline constexpr uint32_t kLastRailIndex = 99;

struct Rail {
  std::string name;    // [a-z0-9]([a-z0-9-]*[a-z0-9])?, 1..15 bytes
  uint32_t index = 0;  // 0..kLastRailIndex, unique
  std::string pf;      // the uplink's netdev
  std::string bridge;  // the OVS bridge, unique
  uint32_t mtu = 0;    // bytes, 1280..9600
  std::vector<DeviceEntry> devices;
  bool manage_sriov = false;  // raild prepares the NIC: num_vfs, switchdev mode, flow_steering
  uint32_t num_vfs = 0;       // 1..1024 with manage_sriov
  std::string flow_steering;  // "smfs", "dmfs", "hmfs"
  // What may be learned from this rail's leaf: addresses in one of these prefixes. Empty: every address.
  std::vector<IpPrefix> accept;
  // What pods of this node may have on this rail: addresses in one of these prefixes. Empty: every address.
  std::vector<IpPrefix> pods;
  std::optional<Lossless> lossless;  // nothing: nobody asks how the uplink treats RoCE
  Place place;

  // The rail to people and to NCCL: uplinks that are planes of one rail have one number, and each its own index.
  uint32_t number() const { return place.rail.value_or(index); }
  // 02:52:41:49:4c:<index>: the pod's gateway has this address on every node.
  MacAddress GatewayMac() const;
  const DeviceEntry* FindDevice(std::string_view device) const;
};

enum class TenancyMode {
  kNamespace,
  kOff,
  kVrf,  // every tenant has its own addresses, and a VLAN on the uplink
};

struct Tenancy {
  TenancyMode mode = TenancyMode::kNamespace;
  std::map<std::string, std::vector<std::string>>
      tenants;  // tenant -> its namespaces; a namespace is in at most one tenant
  // Whether pods reach addresses of other rails. If false, a bridge has rules only for addresses of its own rail.
  bool cross_rail = true;
  Vlans vlans;  // mode `vrf`: of each tenant; else none
};

struct Bgp {
  bool manage = true;
  uint32_t asn = 0;            // 1..4294967295
  IpAddress router_id;         // IPv4
  uint32_t community_asn = 0;  // the first word of every large community of ours
  uint16_t bmp_port = 11019;   // where bgpd pushes what it learns (BMP), on the loopback
  // How many prefixes of one family a leaf is expected to send at most. Twice 2,000 nodes with 64 pods each.
  uint32_t max_prefixes = 256'000;
};

// What holds for every pod of the node. Numbers are of what a rail adds in a pod's network namespace, with the rail's index added.
struct Pods {
  uint32_t first_table = 524100;  // of routing tables
  uint32_t first_rule = 700;      // of priorities of policy rules: 100 from addresses, 100 of interfaces
  std::vector<std::string> ipam;  // the IPAM plugins that may give addresses; empty: all
};

struct Ovs {
  std::string db_socket;  // node.json says "unix:<path>"; this is the path
  std::string run_dir;    // holds <bridge>.mgmt
  bool manage_bridges = true;
  std::optional<bool> remove_foreign_flows;  // nullopt: on bridges that raild made
  std::string datapath;                      // "system" or "netdev"
};

struct Frr {
  std::string run_dir;  // holds bgpd.vty
};

// The TCP address where raild serves gRPC besides its unix socket, with mutual TLS only.
struct Api {
  std::string listen;  // "10.0.0.5:9443", "[::]:9443"; "": none
  std::string cert_file;
  std::string key_file;
  std::string client_ca_file;  // raild serves every client with a certificate of this authority
};

// The HTTP address of raild's metrics. Everyone who can reach the address can read them.
struct Metrics {
  std::string listen;  // "127.0.0.1:9477", "[::1]:9477"; "": none
  bool pods = false;   // also counters of single pods, which makes as many series as there are pods
};

// What raild asks of the API server of the cluster, and tells it. Neither: raild never talks to one.
struct Kubernetes {
  bool tenants = false;  // the tenant of a namespace is what its label says
  std::string tenant_label = "railcni.io/tenant";
  bool report = false;  // the node's condition, and events of nodes and pods
  std::string api;      // "https://10.0.0.1:6443"; "": the one of raild's own pod
};

// Whether raild offers the rails' devices to the kubelet, which gives them to pods.
struct Kubelet {
  bool device_plugin = false;
  bool dra = false;                                 // or its DRA driver: one of the two
  std::string resource = "nvidia.com/rail{index}";  // "{index}" and "{rail}" stand for the rail's
  uint32_t grace_s = 15;                            // how long a fault lasts before the kubelet hears of it
  std::string folder = "/var/lib/kubelet/device-plugins";
  bool libraries = true;  // containers get files that configure NCCL and UCX

  std::string ResourceOf(const Rail& rail) const;
};

// Which cluster the node is of. Its name is part of every tenant's id, so two clusters of one name and one bgp.community_asn are one
// cluster to everybody.
struct Cluster {
  std::string name;  // "": it had none when its nodes' ids were made; only while it gets one
  // What other nodes of the same cluster still call it, or call it already. Their tenants are this node's.
  std::vector<std::string> aliases;
};

struct NodeConfig {
  Cluster cluster;
  std::vector<Rail> rails;  // at least one; sorted by index
  Tenancy tenancy;
  Bgp bgp;
  Pods pods;
  Ovs ovs;
  Frr frr;
  Api api;
  Metrics metrics;
  Kubernetes kubernetes;
  Kubelet kubelet;
  Frontend frontend;
  Bursts bursts;
  Topology topology;
  std::optional<Rates> rates;  // nothing: raild limits nobody

  const Rail* FindRail(std::string_view name) const;
};

// The gateway's address in a pod when IPAM gives none: 169.254.1.1, fe80::1.
IpAddress DefaultGateway(bool v6);

// Errors: kInvalid; the message names every key that is unknown, missing, of a wrong type, out of range, or that contradicts
// another key.
Result<NodeConfig> Parse(std::string_view text);

// The same from a file. Errors: also kNotFound, kPermission.
Result<NodeConfig> Load(const std::string& path);

}  // namespace rail::config
