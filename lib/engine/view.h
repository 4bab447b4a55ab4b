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
#include "lib/qos/compare.h"
#include "lib/state/store.h"
#include "rail/v1/node.pb.h"

namespace rail::engine {

// What raild's repairs are counted by (NodeStatus::Repaired).
inline constexpr auto kRepairCauses = std::to_array<std::string_view>(
    {"rules", "foreign flow", "port", "orphan port", "external_ids", "representor", "guard", "sysctl", "NIC",
     "QoS", "rates", "announcement", "orphan announcement", "bgp configuration", "front end", "tenant link",
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

// A rail: its section of the document, and what is known of it beyond that.
struct RailView {
  config::Rail rail;
  // Each part has set the fields that it owns (NodeStatus::ChangeRail). Without what node.json says of the rail, and without `state`,
  // `connected` and `leaf`: ListRails of raild's API sets them.
  v1::Rail seen;
  std::map<std::string, frr::Session>
      sessions;                   // by interface: the bridge's; mode `vrf`: those of its VLANs' ports
  std::optional<KnownLeaf> leaf;  // as it names itself
  std::optional<IpAddress> stripped_example;  // one of seen.stripped()
  uint32_t most_prefixes = 0;                 // those of the family of which more were received
  // What limits its tenants. Nothing: node.json has no "rates", or raild has not looked yet.
  std::optional<RatesView> rates;
  // Whether every session that the rail is to have is Established. Without a tenant here, mode `vrf` has none.
  bool connected() const;
  const frr::Session* SessionOn(const std::string& interface) const;  // nullptr: bgpd has told of none
  // nullptr: the tenant has no VLAN here.
  const v1::RailVlan* VlanOf(tenancy::TenantId tenant) const;
};

// Of fields of the document. "": zero.
std::string TextOf(const MacAddress& mac);
MacAddress MacOf(const std::string& text);
void SetTenant(v1::Tenant& message, const std::string& name, tenancy::TenantId id);

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
  v1::NodeInfo frontend;  // its fields of the node's section
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
