// The node as raild last saw it: plain data for the API, the metrics and the doctor.
//
// Use:      ViewPublisher views;  views.Publish(view);                       // raild, after each round
//           std::shared_ptr<const NodeView> now = views.Current();   // any RPC
//           now = views.WaitNewer(now->version, deadline);           // a watcher
// Threads:  any thread; a published view never changes
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/config/node_config.h"
#include "lib/engine/learned/leaves.h"
#include "lib/engine/learned/remotes.h"
#include "lib/engine/part.h"
#include "lib/frr/bgp.h"
#include "lib/lldp/frame.h"
#include "lib/qos/compare.h"
#include "lib/state/store.h"

namespace rail::engine {

// What raild's repairs are counted by (NodeStatus::Repaired).
inline constexpr auto kRepairCauses = std::to_array<std::string_view>(
    {"rules", "foreign flow", "port", "orphan port", "external_ids", "representor", "sysctl", "NIC", "QoS",
     "rates", "announcement", "orphan announcement", "bgp configuration", "front end", "tenant link",
     "attachment", "device"});

// How the node's RDMA devices and network namespaces go together (rdma-system(8)).
enum class RdmaMode {
  kUnknown,    // not looked at yet
  kNone,       // the node has no RDMA device
  kShared,     // every pod sees the devices of all
  kExclusive,  // a pod's device is visible to that pod alone
};

// One part of the node that raild keeps right, and whether it could in its last round.
struct Health {
  PartId part;
  bool ok = false;
  std::string problem;    // "" when ok; else a sentence
  uint64_t failures = 0;  // rounds that failed since the start
};

// A management link and its session.
struct FrontendLink {
  std::string name;
  std::string state;      // "Established", ...; "" no session, or not known
  std::string problem;    // "" Established; else a sentence: why it is not
  uint32_t received = 0;  // prefixes, of all families
  uint32_t sent = 0;
  std::vector<IpAddress> not_told;          // addresses of the node that are not in its Adj-RIB-Out
  std::vector<IpPrefix> leaked;             // what is in there and is no address of the node
  std::vector<std::string> default_routes;  // "ipv4", "ipv6": those of the host's table that go out here
  std::vector<std::string> no_default;      // and those that do not, though the session is Established
  bool operator==(const FrontendLink&) const = default;
};

struct FrontendView {
  std::vector<FrontendLink> links;   // empty: there is no front end
  std::vector<IpAddress> addresses;  // of the node
  std::string bfd_problem;           // why BFD is off though it is wanted; "": it is not
  bool operator==(const FrontendView&) const = default;
};

// What a tenant's pods may send on a NIC of a rail, as the NIC had it when raild last looked.
struct TenantRateView {
  std::string tenant;
  tenancy::TenantId tenant_id;
  std::string nic;        // "pci/0000:3b:00.0"
  uint64_t share = 0;     // against the shares of the other tenants
  uint64_t max_mbit = 0;  // Mbit/s; 0: no limit
  uint32_t pods = 0;      // interfaces that share it
  bool operator==(const TenantRateView&) const = default;
};

struct RatesView {
  std::vector<TenantRateView> tenants;
  std::vector<qos::Difference> problems;  // what the NIC does not do of "rates"
  bool operator==(const RatesView&) const = default;
};

// What one interface may send: its tenant's, shared with the tenant's others on the NIC, and within that its own (min_tx_rate,
// max_tx_rate). Mbit/s; 0: none.
struct AttachmentRate {
  uint64_t tenant_share = 0, tenant_max_mbit = 0;
  uint64_t min_mbit = 0, max_mbit = 0;
  bool operator==(const AttachmentRate&) const = default;
};

// Mode `vrf`: the VLAN of a tenant with a pod on the rail.
struct VlanView {
  uint16_t vlan = 0;
  std::string tenant;
  tenancy::TenantId id;
  std::string port;         // on the bridge: over it the node and the leaf speak of the tenant
  std::string vrf;          // the kernel's, in which the port is
  bool port_works = false;  // Open vSwitch has the port
  MacAddress leaf_mac;      // that the port hears; zero: not known yet
  std::string bgp_state;    // as of the rail
  std::string bgp_problem;
  std::optional<frr::Session> session;
};

struct RailView {
  config::Rail rail;
  // Mode `vrf`: there is a session for each of `vlans`, and none of the rail itself. Then what is said below of the leaf and of BGP is of all
  // of them together: the first that lacks something, and the sums.
  bool by_vlan = false;
  std::vector<VlanView> vlans;  // ascending; of the tenants that have a pod on the rail
  bool bridge_present = false;
  bool uplink_carrier = false;
  MacAddress bridge_mac;
  MacAddress leaf_mac;                       // zero: not known yet
  std::optional<KnownLeaf> leaf;             // as it names itself
  std::optional<lldp::Neighbour> neighbour;  // as the other end of the uplink describes itself by LLDP
  std::string bgp_state;                     // "Established", ...; "" no session
  std::string bgp_problem;                   // "" Established; else a sentence: why it is not
  std::optional<frr::Session> session;       // as bgpd has told of it, and the kernel of its connections
  uint32_t prefixes_received = 0;
  // Addresses of this node's pods that the leaf sends back without their large communities, and one of them.
  uint32_t stripped = 0;
  std::optional<IpAddress> stripped_example;
  uint32_t most_prefixes = 0;  // those of the family of which more were received
  uint32_t prefixes_sent = 0;
  uint64_t rules_wanted = 0;
  uint64_t rules_installed = 0;  // of ours, known to be in the switch
  uint64_t foreign_rules = 0;    // of others, on the same bridge
  // How the uplink differs from "lossless" of node.json. Nothing: nobody wants to know, or raild has not looked yet.
  std::optional<std::vector<qos::Difference>> lossless;
  // What limits its tenants. Nothing: node.json has no "rates", or raild has not looked yet.
  std::optional<RatesView> rates;
  uint64_t unrecorded_pods = 0;  // that live and have a port of ours, and that the record has lost
  // "": raild could look at the bridge and its rules in its last round. Else why it could not: then bridge, leaf and rules are as it saw
  // them last, and what they are now is not known since then (Unix time).
  std::string unseen;
  int64_t unseen_since_ms = 0;
  // Whether every session that the rail is to have is Established. Without a tenant here, mode `vrf` has none.
  bool connected() const { return bgp_state == frr::kEstablished || (by_vlan && vlans.empty()); }
  // nullptr: the tenant has no VLAN here.
  const VlanView* VlanOf(tenancy::TenantId tenant) const;
};

// Who else announces an address of an attachment.
struct AddressElsewhere {
  IpAddress address;
  bool other_tenant = false;  // or none; false: the same tenant, on another node
  // "AS 4200000002 (AS path 4200010001 4200000002, from the leaf fe80::1 on rail0) for tenant tenant-b (cf71...4021)"
  std::string by;
  std::string ToText() const;  // a sentence
};

struct AttachmentView {
  state::Attachment attachment;
  std::optional<tenancy::Plane> plane{};  // of its rail, where node.json names planes
  uint16_t vlan = 0;                      // mode `vrf`: of its tenant; 0: none
  bool rules_in_place =
      false;  // its port works, and all of its rules were in the switch when raild could last look
  int64_t rules_unknown_since_ms = 0;  // Unix time since when raild cannot look; 0: it can
  std::string pending;                 // "": no undo work is left; else the step and why its last undo failed
  std::string pending_step;            // the step's kind: "port"
  bool device_lost = false;  // its pod lives without the device: the NIC was reset, or has made its VFs anew
  std::string
      withdrawn;  // why its addresses are not announced although it is to be; "": they are, or it is not to be
  std::optional<AttachmentRate> rate;       // nothing: its port is in no tenant's rate node
  std::vector<AddressElsewhere> elsewhere;  // addresses of it that others announce, too
  std::string
      moves_to;  // "": it is in the tenant of its namespace; else the tenant into which raild is to move it
  std::string
      namespace_unseen;  // "": raild can see its namespace, or knows that it is gone; else what is missing
};

struct RemoteView {
  frr::Remote remote;
  std::string tenant;      // its name when the tenant is present here, or has a VLAN in node.json, else ""
  uint16_t vlan = 0;       // mode `vrf`: of its tenant; 0: none
  bool installed = false;  // its rules are wanted on a bridge of this node
  bool contested = false;  // several tenants announce the address, each in a remote: it reaches nobody
  // "": nothing hints at a second one who announces it; else who did before, when nobody has withdrawn it: "AS 7 (...) for ..."
  std::string replaced;
  uint32_t as_path = 0;  // of NodeView::as_paths
};

// The remotes of a view, ordered by address. The list is made when somebody first asks for it, since views are published far more
// often than all remotes are listed.
class RemoteList {
 public:
  RemoteList() : lazy_(std::make_shared<Lazy>()) {}
  explicit RemoteList(std::function<std::vector<RemoteView>()> make) : RemoteList() {
    lazy_->make = std::move(make);
  }
  const std::vector<RemoteView>& list() const;  // any thread
  std::vector<RemoteView>& own();               // a list that belongs to this view alone and may be changed
  auto begin() const { return list().begin(); }
  auto end() const { return list().end(); }
  size_t size() const { return list().size(); }
  const RemoteView& operator[](size_t i) const { return list()[i]; }

 private:
  struct Lazy {
    std::once_flag made;
    std::function<std::vector<RemoteView>()> make;
    std::vector<RemoteView> list;
  };
  std::shared_ptr<Lazy> lazy_;
};

// How many remotes there are. Reading these counts costs nothing: it does not make the list `remotes`.
struct RemoteCounts {
  uint64_t known = 0;
  uint64_t contested = 0;  // claimed by more than one tenant, addresses of pods here included
  std::map<std::string, uint64_t> of_tenant;  // by tenant's name, for tenants with an attachment here
};

// What is known of the cluster's namespaces, where node.json asks the API server for their tenants (kubernetes.tenants).
struct TenantListView {
  bool wanted = false;
  bool known = false;  // there is a list, from the API server or from an earlier run
  uint64_t namespaces = 0;
  uint64_t invalid = 0;  // namespaces whose label cannot be a tenant
  std::string example;   // one of them: "team-x (railcni.io/tenant=Team_X)"
  std::string problem;   // "": the list follows the API server; else why it does not
  Deadline problem_since = {};
};

struct NodeView {
  uint64_t version = 0;  // grows with each view that is published
  std::string hostname;
  uint32_t asn = 0;  // this node's, as bgpd has it
  std::string raild_version;
  int64_t started_ms = 0;          // Unix time
  bool bmp_up = false;             // bgpd pushes what it learns; false: nothing new is learned
  bool bmp_ambiguous = false;      // BMP cannot distinguish two of bgpd's sessions
  bool learning_complete = false;  // a whole table was learned since the start, or it began 120 s ago
  RdmaMode rdma = RdmaMode::kUnknown;
  std::vector<Health> health;  // by part
  std::vector<RailView> rails;
  FrontendView frontend;
  std::vector<AttachmentView> attachments;
  RemoteList remotes;
  RemoteCounts remote_counts;
  // By whom an address is announced that has no tenant's communities; "": by nobody. In mode `vrf`: in this tenant's VRFs.
  std::function<std::string(const tenancy::TenantId&, const IpAddress&)> without_tenant;
  TenantListView tenant_list;
  std::string unit;  // Leaves::unit
  AsPaths as_paths;
  std::shared_ptr<const Seats> seats;  // of other nodes; nullptr: none is known
  uint64_t repairs = 0;  // what stood as it should, was found otherwise and was put right, since the start
  std::map<std::string, uint64_t> repairs_by_cause;  // kRepairCauses; their sum is `repairs`
};

class ViewPublisher {
 public:
  ViewPublisher();
  // Gives `view` the next version and makes it the current one.
  void Publish(NodeView view);
  std::shared_ptr<const NodeView> Current() const;
  // Waits until the current view's version is above `version`, or until the deadline. Returns the view that is current then.
  std::shared_ptr<const NodeView> WaitNewer(uint64_t version, Deadline deadline) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable published_;
  std::shared_ptr<const NodeView> current_;
};

}  // namespace rail::engine
