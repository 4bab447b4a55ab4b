// Finds what is wrong with a node, or will be. Each finding says what it is, why it matters, and what to do.
//
// Use:      const std::vector<Finding> findings = Diagnose(facts);   // causes, the worst first
// Threads:  pure functions
// Source:   README.md of this folder (every finding and where its knowledge comes from)
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/config/changes.h"
#include "lib/counters/sampler.h"
#include "lib/engine/view.h"
#include "lib/inspect/certificate.h"
#include "lib/inspect/hardware.h"
#include "lib/inspect/megaflow.h"
#include "lib/netlink/drop_rule.h"
#include "lib/ovs/ovsdb.h"
#include "lib/ovs/rule.h"
#include "lib/ovs/vswitchd.h"
#include "lib/podnet/podnet.h"
#include "lib/qos/compare.h"
#include "lib/sriov/prepare.h"
#include "lib/tenancy/tenancy.h"

namespace rail::inspect {

enum class Severity { kInfo, kWarning, kCritical };

// How far a finding reaches. In the table of causes: what of a cause's own a finding must concern to follow from it.
enum class Scope { kNode, kRail, kAttachment };

struct Finding {
  Severity severity = Severity::kInfo;
  std::string id;  // a name that never changes
  std::string
      subject;  // the thing that it is about: "ovs-vswitchd", a rail's name, "tenant-a/a1 net1 on rail0"
  std::string what;
  std::string why;
  std::string fix;
  std::string
      aspect{};  // which part of raild fails, which step's undo is pending: the table of causes tells them apart
  // Filled by CausesFirst (causes.h):
  Scope scope = Scope::kNode;
  std::string rail{};              // that it concerns; "": the whole node, or none
  int64_t attachment = 0;          // that it concerns; 0: none
  std::vector<Finding> follows{};  // what would not be there without it
};

struct FileFacts {
  bool there = false;
  uint32_t mode = 0;  // permission bits
};

struct LinkFacts {
  bool there = false;
  bool up = false;
  bool carrier = false;
  uint32_t mtu = 0;
  bool has_link_local = false;         // an fe80:: address
  std::vector<std::string> addresses;  // the others
  std::string disable_ipv6;            // the sysctl; "" not known
  std::string accept_ra;
};

// Which sizes of packets the leaf has answered over the rail. Bytes.
struct LeafFacts {
  uint32_t full_size = 0;  // the MTU of the rail, or of the bridge's port where that is less; 0: not asked
  uint32_t small_size = 0;
  bool small = false;
  bool full = false;
};

struct RailFacts {
  std::optional<ovs::Bridge> bridge;  // nullopt: none, or unknown
  LinkFacts uplink;
  LinkFacts local;  // the bridge's own port
  LeafFacts leaf;
  uint32_t speed_mbit = 0;                        // of the uplink, Mbit/s; 0: not known
  std::map<std::string, LinkFacts> representors;  // of the attachments of the rail
  uint64_t foreign_flows = 0;                     // rules of others on the bridge
  std::vector<ovs::Rule> foreign_examples;        // the first few of them
  // How the uplink differs from "lossless" of node.json.
  std::vector<qos::Difference> lossless;
  std::vector<sriov::NicState> nic;  // {}: the uplink is not an SR-IOV device, or unknown
};

struct CertificateFacts {
  std::string path;
  std::string purpose;  // "the API's certificate"
  Result<Validity> validity;
};

// What looks into the pods have shown (inside.h).
struct PodsFacts {
  std::map<int64_t, std::vector<podnet::Deviation>>
      differ;  // by attachment's id; who is as ADD made it is not here
  std::map<int64_t, std::vector<std::string>> moved_gids;  // by attachment's id (LookAtGids)
  size_t looked = 0;
  size_t not_looked = 0;       // there was no time for them, or
  std::optional<Error> error;  // why the first of them could not be looked into
};

// What keeps a raild that does not run from starting.
struct Obstacle {
  std::string subject;
  std::string what;
  std::string fix;
};

// What `raild --doctor` has found of raild itself. It looks without a daemon: of what raild alone knows, its view has nothing.
struct StartFacts {
  bool runs = false;                // somebody serves raild's sockets
  std::string log;                  // the command that shows raild's log on a node like this one
  std::string start;                // and the one that starts raild
  std::vector<Obstacle> obstacles;  // of a raild that does not run; each step of its start was tried
};

// Everything that Diagnose reads.
struct NodeFacts {
  config::NodeConfig config;
  engine::NodeView view;
  int64_t now_ms = 0;

  std::optional<Error> ovsdb_down;
  ovs::ExternalIds other_config;
  std::optional<Error> vswitchd_down;  // its control socket
  std::vector<ovs::DatapathCounts> datapaths;
  size_t megaflows = 0;                              // from and to pods
  size_t megaflows_in_software = 0;                  // those of them that are not in hardware
  std::map<std::string, size_t> dropping_megaflows;  // by representor: those that drop what its pod sends
  Masks masks;

  std::vector<sriov::RdmaGuid> rdma_guids;  // of RDMA devices that no pod has

  std::optional<Error> bgpd_down;
  std::vector<frr::Session> sessions;  // as bgpd lists them now
  std::optional<IpAddress>
      bgp_identifier;  // of its default instance; nullopt: it has no neighbors, or is not known
  std::optional<Error> zebra_down;
  std::string frr_version;                    // of zebra; "" not known
  v1::NodeInfo frontend;                      // as it is now
  std::vector<netlink::DropRule> drop_rules;  // of this node's firewall; looked at when a leaf is silent
  std::optional<Error> links_unknown;
  std::optional<std::set<std::string>> vrfs;  // the kernel's; nullopt: not known
  std::map<std::string, RailFacts> rails;     // by name
  PodsFacts pods;
  Machinery machinery;
  std::map<int64_t, std::vector<std::string>> rates_differ;  // by attachment: how its rate is not as wanted
  std::shared_ptr<const counters::PortsView> ports;          // nullptr: nobody counts

  Result<tenancy::TenantMapPtr> tenants = tenancy::NoMap();  // with kubernetes.tenants
  std::chrono::seconds tenants_stale{};  // for how long the list has not followed the API server

  std::optional<Error> config_error;           // node.json as it is now cannot be read
  std::vector<config::Change> config_changes;  // from `config` to node.json as it is now
  std::optional<StartFacts> start;             // nullopt: raild itself asks

  std::string record_path = "state.db";
  FileFacts record_file;
  std::optional<Error> record_error;
  std::optional<uint64_t> record_free_bytes;  // of its file system

  std::vector<CertificateFacts> certificates;
};

// The causes; each holds what follows from it. Ordered as CausesFirst (causes.h) says.
std::vector<Finding> Diagnose(const NodeFacts& facts);

// The same of a node of which nobody knows the rails, as node.json cannot be read: reads `config_error`, `start` and the record's facts.
std::vector<Finding> DiagnoseStart(const NodeFacts& facts);

// The ids of all findings that Diagnose looks for. Of two that are equal in all else, the one whose id comes first here is first.
std::span<const std::string_view> KindsOfFindings();

}  // namespace rail::inspect
