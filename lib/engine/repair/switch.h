// raild's repair of Open vSwitch and the host's links: bridges, ports and rules of every rail, as node.json, the record and BGP
// say. It applies the difference and touches nothing that is not ours.
//
// Use:      SwitchRepair repair(config, deps, *store, node_status);
//           repair.Audit();            // everything: at start, every 30 s, at an event of the switch or of a link
//           repair.DatabaseChanged();  // OVSDB has reported a change
//           repair.RecordChanged();    // a plugin has changed the record
//           repair.Learned();          // BGP has sent something new, or a neighbour has changed
//           repair.RulesChanged();     // a bridge has reported that others have changed rules
//           repair.TenantsChanged();   // the list of namespaces has changed
//           repair.Retry();            // tries the failed rails that are due, and ends what is due; next_retry() says when
// Threads:  one; the NodeStatus may be shared
// Source:   README.md of this folder ("The order of looking")
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/engine/attach/verb_context.h"
#include "lib/engine/repair/backoff.h"
#include "lib/engine/repair/leaving.h"
#include "lib/engine/repair/local_rules.h"
#include "lib/engine/repair/nic.h"
#include "lib/engine/repair/node_status.h"
#include "lib/engine/repair/ports.h"
#include "lib/engine/repair/representors.h"
#include "lib/engine/repair/rules.h"
#include "lib/engine/repair/vlan_ports.h"
#include "lib/engine/repair/vlans.h"

namespace rail::engine {

class SwitchRepair {
 public:
  SwitchRepair(const config::NodeConfig& config, const Deps& deps, state::Store& store,
               NodeStatus& node_status);

  void Audit();
  void DatabaseChanged();
  void RecordChanged();
  void Learned();
  void RulesChanged();
  void Retry();
  std::optional<Deadline> next_retry() const;
  // Whether some rail has failed and waits for its retry. What waits for its time only is not broken.
  bool broken() const;
  // The list of namespaces has changed. Costs nothing where no attachment moves.
  void TenantsChanged();
  // Whether a round has moved attachments to other tenants since the last call: then their announcements are due.
  bool TakeMoved() { return std::exchange(moved_, false); }
  // Whether one of these links (indexes) is a rail's, or a rail is waiting for one.
  bool Concerned(const std::vector<int>& links) const;
  // Whether one of these links is a representor; Representors then looks at those of its rail.
  bool TakeRepresentors(const std::vector<int>& links);
  void RepairRepresentors();
  // Whether rules of others go from the rail's bridge: as ovs.remove_foreign_flows says, else if raild made the bridge.
  bool RemovesForeignRules(const config::Rail& rail) const;

 private:
  struct RailState {
    RailState(const config::Rail& rail, config::TenancyMode mode, RecordReader& record,
              NodeStatus& node_status)
        : ports(rail, record, node_status),
          representors(rail, node_status),
          vlan_repair(rail, record, node_status),
          local_rules(mode) {}

    bool bridge_present = false;
    bool bridge_ours = false;  // raild has made it, also where somebody has taken the mark away since
    int uplink_link = 0;       // indexes of the kernel
    int local_link = 0;
    pipeline::BridgeFacts facts;
    PortRepair ports;
    RepresentorRepair representors;
    bool representors_due = false;
    VlanRepair vlan_repair;  // makes the ports that `vlans` looks at
    LocalRules local_rules;
    RuleRepair rules;
    Status below;                     // how the last check of bridge and links ended
    std::optional<ovs::Bridge> left;  // the bridge in OVSDB after the last whole round that failed
    bool absent = false;              // OVSDB has answered in it that there is no such bridge
    MacAddress leaf_mac;
    VlanPorts vlans;
    // How the last round's look at the rules ended: every wanted rule is in the switch; the switch refuses some; nobody could look.
    enum class RulesSeen { kRight, kRefused, kNotLooked } rules_seen = RulesSeen::kNotLooked;
    bool rules_right() const { return rules_seen == RulesSeen::kRight; }
    // The cookies of the rules of each leaf of which the MAC is not known.
    std::set<uint64_t> LeavesUnknown() const {
      std::set<uint64_t> unknown;
      if (facts.vlans.empty() && leaf_mac.is_zero()) unknown.insert(ovs::Cookie(ovs::CookieKind::kLeaf, 0));
      if (facts.vlans.empty()) return unknown;
      for (const uint16_t vlan : vlans.without_leaf())
        unknown.insert(ovs::Cookie(ovs::CookieKind::kLeaf, vlan));
      return unknown;
    }
    void Show(v1::Rail& seen) const;  // what a round that could look has seen
    Backoff backoff{std::chrono::milliseconds(250), std::chrono::seconds(10)};
    std::optional<Deadline> tenant_stays;  // when its rule is looked at again
    MendedRules unlogged;                  // put right, and not in the log yet
    std::optional<Deadline> next_log;      // before it, nothing more is said of what was put right
    uint64_t foreign_logged = 0;           // rules of others that stay, as the log says
  };
  using Work = std::function<void(Connections& connections, const config::Rail& rail, RailState& state)>;

  // Runs `work` for each rail, each with its own deadline. If one rail has waited for a daemon
  // that hangs, the others do not wait for long. `before`: for all rails first, and its rules are in the switch then (RuleRepair::Send).
  void ForEachRail(const Work& work, const Work& before = {});
  RailState& StateOf(const config::Rail& rail) { return *rails_.at(rail.name); }
  void RepairRail(Connections& connections, const config::Rail& rail, RailState& state);
  // Ends a rail's round: reports its result and sets the next retry. `round`: how the parts of this round ended.
  void EndRound(const config::Rail& rail, RailState& state, const Status& round);
  Status RepairBridge(Connections& connections, const config::Rail& rail, RailState& state);
  Status RepairHostLinks(Connections& connections, const config::Rail& rail, RailState& state);
  Status RepairHostSysctls(const config::Rail& rail);
  // Once in each audit, as soon as a rail is right.
  void SetFlowLimit(Connections& connections, const RailState& state);
  Status RepairPorts(Connections& connections, RailState& state);
  void RepairVlans(Connections& connections, const config::Rail& rail, RailState& state);
  void RaiseRepresentors(Connections& connections, const config::Rail& rail, RailState& state);
  // Who the leaf is; in mode `vrf`, for each VLAN.
  Status LookForLeaf(Connections& connections, const config::Rail& rail, RailState& state);
  void SendRules(Connections& connections, const config::Rail& rail, RailState& state);
  Status RepairRules(Connections& connections, const config::Rail& rail, RailState& state,
                     RuleRepair::Look look);
  // Logs what was put right and which rules of others stay; at most once in a while, since a program that
  // writes rules without end makes a round each time.
  void LogRepairs(const config::Rail& rail, RailState& state, const Record& record);
  // Held: attachments of the rail have moved in the record, and the rules are due.
  Result<FileLock> MoveAttachments(Connections& connections, const config::Rail& rail);
  Result<ClosedTenants> CloseTenants(Connections& connections, const config::Rail& rail);
  // Ends a round: what it has read and found is seen by others.
  void Publish();
  // Whether attachments have left a tenant for good: the record says so now, and the rules are due.
  bool EndLeaving();
  RuleTarget TargetOf(const config::Rail& rail, RailState& state, const Record& record,
                      const std::shared_ptr<const engine::Learned>& learned) const;

  const config::NodeConfig& config_;
  const Deps deps_;
  state::Store& store_;
  RecordReader record_;
  NodeStatus& node_status_;
  NicRepair nics_;
  std::map<std::string, std::unique_ptr<RailState>> rails_;
  bool flow_limit_due_ = true;
  bool moved_ = false;
  Leaving leaving_;
};

}  // namespace rail::engine
