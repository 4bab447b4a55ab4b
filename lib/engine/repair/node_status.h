// What raild's parts know. Each part stores what it has found and reads what the others have
// found. Publish makes a view of all that.
//
// Use:      NodeStatus node_status(config, identity, views);
//           node_status.Note({Part::kRail, "rail0"}, status);  node_status.Repaired("rules", 3);
//           node_status.ChangeRail("rail0", [&](v1::Rail& seen) { seen.set_leaf_mac(mac); });
//           node_status.SetLearned(learned);         // BGP's part
//           node_status.Changed();                   // at the end of a round: the publisher publishes soon
//           node_status.Publish(reader);             // the publisher
// Threads:  any thread; Publish: the publisher's, whose own `reader` is
// Owns:     nothing: config and views must outlive it
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "lib/engine/attach/record.h"
#include "lib/engine/attach/tenant_vlans.h"
#include "lib/engine/attach/whereabouts.h"
#include "lib/engine/learned/remotes.h"
#include "lib/engine/view.h"
#include "lib/tenancy/tenancy.h"

namespace rail::engine {

struct NodeIdentity {
  std::string hostname;
  std::string raild_version;
  int64_t started_ms = 0;
};

// What raild has learned from BGP. Never changes once it is set.
struct Learned {
  RemoteTable remotes;
  std::map<std::string, frr::Session> sessions;  // by interface
  bool complete = false;                         // as Remotes::complete
  bool bmp_up = false;                           // bgpd pushes
  bool bmp_ambiguous = false;                    // BMP cannot distinguish two of bgpd's sessions
  // Addresses of this node's pods that others announce, and have announced for some seconds.
  AlsoAnnounced elsewhere;
  std::map<std::string, KnownLeaf> leaves{};  // by rail
  std::string unit{};                         // Leaves::unit
};

// What the last round that could look has seen of the ports and rules of a rail's bridge.
struct PortsSeen {
  bool rules_right = false;     // the round ended with every wanted rule in the switch
  std::set<std::string> ports;  // names of the ports that work
};

// What raild's parts have seen of a rail.
struct RailSeen {
  v1::Rail section;  // each part owns the fields that it sets
  PortsSeen ports{};
  bool is_cut_off = false;  // its uplink is known to have no carrier
};

// What RatesRepair has seen.
struct RatesSeen {
  std::map<std::string, RatesView> rails;  // by name
  std::map<int64_t, AttachmentRate> attachments;
  bool operator==(const RatesSeen&) const = default;
};

class NodeStatus {
 public:
  NodeStatus(const config::NodeConfig& config, NodeIdentity identity, ViewPublisher& views)
      : config_(config),
        identity_(std::move(identity)),
        views_(views),
        vlans_(VlansByTenant(config)),
        record_(std::make_shared<const Record>()),
        learned_(std::make_shared<const Learned>()) {}

  // Stores how the last round of a part ended. Logs it if it differs from the round before.
  void Note(const PartId& part, const Status& status);
  bool Knows(const PartId& part) const;     // it was noted once
  bool WasRight(const PartId& part) const;  // when it was noted last
  // `cause`: one of kRepairCauses (view.h). Only for what stood as it should and was found otherwise: what follows news is no repair.
  void Repaired(const std::string& cause, uint64_t count = 1);

  // Changes the rail's section of the document; each part changes the fields that it owns. True: it is not as before. Nothing happens to a
  // rail that node.json does not have.
  bool ChangeRail(const std::string& rail, const std::function<void(v1::Rail&)>& change);
  // The rail's round could not look, `why`: what was seen before stays, and its age is shown.
  void Unseen(const std::string& rail, const std::string& why);
  void SetPorts(const std::string& rail, PortsSeen seen);
  bool HasUnrecorded() const;
  void SetRdma(RdmaMode mode);
  void SetUplink(const std::string& rail, bool carrier);
  bool SetRates(RatesSeen seen);  // true: not as before
  // Whether the rail's uplink is known to have no carrier.
  bool UplinkIsDown(const std::string& rail) const;
  // True: another set of attachments has lost its device than before.
  bool SetWhereabouts(WhereaboutsById where);
  // Whether the attachment's pod lives without its device: then nothing reaches the pod.
  bool HasLostDevice(int64_t attachment) const;
  // What the API server says of namespaces, and how the connection to it is. Never makes a part wrong: with the list of yesterday the
  // node works, and no restart of it helps.
  void SetTenantList(TenantListView list, Result<tenancy::TenantMapPtr> tenants);
  void SetFrontend(v1::NodeInfo frontend);  // its fields alone are set
  void SetLearned(std::shared_ptr<const Learned> learned);
  std::shared_ptr<const Learned> learned() const;

  // What is stored here has changed, or the record: calls `on_change`, which is set before the parts begin. Any thread.
  void Changed() const { on_change_(); }
  void OnChange(std::function<void()> on_change) { on_change_ = std::move(on_change); }
  // Publishes a view of everything stored here and of the record. While nobody can read the record: of the last reading, and health
  // says so.
  void Publish(RecordReader& reader);

 private:
  bool IsCutOff(const std::string& rail) const;                                     // mutex_ is held
  NodeView Compose(const Record& record) const;                                     // mutex_ is held
  std::string Withdrawn(const AttachmentView& shown) const;                         // mutex_ is held
  RailView ComposeRail(const config::Rail& rail) const;                             // mutex_ is held
  void ShowSessions(RailView& shown) const;                                         // mutex_ is held
  std::string SessionProblem(const std::string& interface, RailView& shown) const;  // mutex_ is held

  const config::NodeConfig& config_;
  const NodeIdentity identity_;
  ViewPublisher& views_;
  std::function<void()> on_change_ = [] {};
  const std::map<tenancy::TenantId, TenantVlan> vlans_;  // of every tenant that has one

  RecordPtr record_;  // the publisher's: the last one that could be read; empty before the first
  mutable std::mutex mutex_;
  std::map<PartId, Health> health_;
  std::map<std::string, uint64_t> repairs_;  // by cause
  std::map<std::string, RailSeen> rails_;    // by name; a rail without one has not been seen
  RdmaMode rdma_ = RdmaMode::kUnknown;
  RatesSeen rates_;
  WhereaboutsById where_;  // as the sweep saw it last
  std::shared_ptr<const Learned> learned_;
  v1::NodeInfo frontend_;
  struct {
    TenantListView list;
    Result<tenancy::TenantMapPtr> tenants = tenancy::NoMap();
  } labels_;  // as the API server says them
};

}  // namespace rail::engine
