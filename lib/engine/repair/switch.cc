#include "lib/engine/repair/switch.h"

#include <algorithm>
#include <utility>

#include "lib/base/log.h"

namespace rail::engine {
namespace {

using state::Attachment;
using state::Phase;

// A rail that took as long as kHung has waited for a daemon that hangs. After it, every other rail has only kAfterHung.
constexpr std::chrono::seconds kHung{5};
constexpr std::chrono::seconds kAfterHung{1};
// A change of at least this many rules is worth a line in the log.
constexpr uint64_t kManyRules = 1000;
// The log says at most so often what was put right in the rules of one bridge.
constexpr std::chrono::seconds kLogInterval{10};

// nullopt: no such bridge. Errors: OVSDB does not answer.
Result<std::optional<ovs::Bridge>> InDatabase(Connections& connections, const config::Rail& rail) {
  RAIL_ASSIGN(ovs::Ovsdb * db, connections.Ovsdb());
  return db->FindBridge(rail.bridge, connections.CallDeadline());
}

}  // namespace

SwitchRepair::SwitchRepair(const config::NodeConfig& config, const Deps& deps, state::Store& store,
                           NodeStatus& node_status)
    : config_(config),
      deps_(deps),
      store_(store),
      record_(store),
      node_status_(node_status),
      nics_(deps.openers(config), store, node_status, deps.origin) {
  for (const config::Rail& rail : config_.rails)
    rails_[rail.name] = std::make_unique<RailState>(rail, config_.tenancy.mode, record_, node_status);
}

void SwitchRepair::ForEachRail(const Work& work, const Work& before) {
  Connections connections(deps_.openers(config_), After(kRoundLimit));
  if (before) {
    for (const config::Rail& rail : config_.rails) before(connections, rail, StateOf(rail));
    for (const config::Rail& rail : config_.rails) StateOf(rail).rules.TakeSent();
    deps_.step_ended();
  }
  bool hung = false;
  for (const config::Rail& rail : config_.rails) {
    const auto began = deps_.now();
    connections.GiveTime(After(hung ? kAfterHung : kRoundLimit));
    work(connections, rail, StateOf(rail));
    deps_.step_ended();
    hung = hung || deps_.now() - began >= kHung;
  }
}

// What BGP tells meanwhile waits for the audit of one rail, not of all.
void SwitchRepair::Audit() {
  flow_limit_due_ = true;
  auto followed = node_status_.learned();
  ForEachRail([&](Connections& connections, const config::Rail& rail, RailState& state) {
    const auto began = deps_.now();
    RepairRail(connections, rail, state);
    if (node_status_.learned() == followed || deps_.now() - began >= kHung) return;
    followed = node_status_.learned();
    Learned();
  });
  nics_.LookAtRdma();
  Publish();
}

// OVSDB also reports what an ADD has changed, which the round that follows the ADD has seen, and what raild's last try has changed and
// taken back: then nothing is to be done, and a rail that failed waits until its retry is due.
void SwitchRepair::DatabaseChanged() {
  bool looked = false;
  ForEachRail([&](Connections& connections, const config::Rail& rail, RailState& state) {
    const auto now = InDatabase(connections, rail).value_or(std::nullopt);
    if (state.backoff.next() ? now == state.left : state.ports.IsAsRepaired(now)) return;
    RepairRail(connections, rail, state);
    looked = true;
  });
  if (looked) Publish();
}

void SwitchRepair::Retry() {
  if (EndLeaving()) RecordChanged();
  ForEachRail([&](Connections& connections, const config::Rail& rail, RailState& state) {
    // What no pod needs any more goes when the rail is right: its removal needs what has failed.
    const auto unused = state.backoff.next() ? std::nullopt : state.vlan_repair.next();
    if (state.backoff.Due() || (unused && deps_.now() >= *unused)) {
      RepairRail(connections, rail, state);
    } else if (state.tenant_stays && deps_.now() >= *state.tenant_stays) {
      EndRound(rail, state, RepairRules(connections, rail, state, RuleRepair::Look::kNews));
    }
  });
  Publish();
}

std::optional<Deadline> SwitchRepair::next_retry() const {
  std::optional<Deadline> next = leaving_.next();
  for (const auto& [name, state] : rails_) {
    next = Earlier(Earlier(next, state->backoff.next()), state->tenant_stays);
    if (!state->backoff.next()) next = Earlier(next, state->vlan_repair.next());
  }
  return next;
}

bool SwitchRepair::broken() const {
  return std::ranges::any_of(rails_, [](const auto& one) { return one.second->backoff.next().has_value(); });
}

bool SwitchRepair::Concerned(const std::vector<int>& links) const {
  return std::ranges::any_of(rails_, [&](const auto& entry) {
    const RailState& state = *entry.second;
    return !state.bridge_present || std::ranges::find(links, state.uplink_link) != links.end() ||
           std::ranges::find(links, state.local_link) != links.end() || state.vlan_repair.Concerned(links);
  });
}

bool SwitchRepair::TakeRepresentors(const std::vector<int>& links) {
  bool due = false;
  for (const auto& [name, state] : rails_) {
    state->representors_due = state->representors_due || state->representors.Concerned(links);
    due = due || state->representors_due;
  }
  return due;
}

void SwitchRepair::RepairRepresentors() {
  ForEachRail([&](Connections& connections, const config::Rail& rail, RailState& state) {
    if (state.representors_due) RaiseRepresentors(connections, rail, state);
  });
  Publish();
}

// The rail's ports and rules do not depend on it.
void SwitchRepair::RaiseRepresentors(Connections& connections, const config::Rail& rail, RailState& state) {
  state.representors_due = false;
  const auto repair = [&]() -> Status {
    RAIL_ASSIGN(guard::Guard * guard, connections.Guard());
    RAIL_ASSIGN(const RecordPtr record, record_.Read());
    RAIL_TRY(state.representors.Repair(connections, store_, *record));
    return state.representors.Forget(*guard, *record, deps_.now());
  };
  node_status_.Note({Part::kRepresentors, rail.name}, repair());
}

void SwitchRepair::RulesChanged() {
  ForEachRail([&](Connections& connections, const config::Rail& rail, RailState& state) {
    if (state.bridge_present)
      EndRound(rail, state, RepairRules(connections, rail, state, RuleRepair::Look::kNews));
  });
  Publish();
}

void SwitchRepair::RecordChanged() {
  ForEachRail([&](Connections& connections, const config::Rail& rail, RailState& state) {
    if (!state.bridge_present) return;
    const Result<RecordPtr> now = record_.Read();
    Status status = now ? Status() : tl::make_unexpected(now.error());
    const bool vlans = now && !state.vlan_repair.Covers(config_, **now);
    if (vlans) RepairVlans(connections, rail, state);
    if (vlans || (now && !state.ports.Covers(**now))) {
      RaiseRepresentors(connections, rail, state);
      status = RepairPorts(connections, state);
    }
    if (config_.tenancy.mode == config::TenancyMode::kVrf && status)  // a tenant may have come or gone
      node_status_.Note({Part::kLeaf, rail.name}, LookForLeaf(connections, rail, state));
    if (status) status = RepairRules(connections, rail, state, RuleRepair::Look::kNews);
    EndRound(rail, state, status);
  });
  Publish();
}

void SwitchRepair::Learned() {
  ForEachRail(
      [&](Connections& connections, const config::Rail& rail, RailState& state) {
        if (!state.bridge_present) return;
        node_status_.Note({Part::kLeaf, rail.name}, LookForLeaf(connections, rail, state));
        EndRound(rail, state, RepairRules(connections, rail, state, RuleRepair::Look::kNews));
      },
      [this](Connections& connections, const config::Rail& rail, RailState& state) {
        SendRules(connections, rail, state);
      });
  Publish();
}

void SwitchRepair::RepairRail(Connections& connections, const config::Rail& rail, RailState& state) {
  state.rules_seen = RailState::RulesSeen::kNotLooked;
  nics_.Ensure(rail);
  deps_.step_ended();
  RaiseRepresentors(connections, rail, state);
  state.below = RepairBridge(connections, rail, state);
  if (state.below) state.below = RepairHostLinks(connections, rail, state);
  Status round;
  if (state.below) {
    RepairVlans(connections, rail, state);
    round = RepairPorts(connections, state);
    if (round) {
      node_status_.Note({Part::kLeaf, rail.name}, LookForLeaf(connections, rail, state));
      round = RepairRules(connections, rail, state, RuleRepair::Look::kAudit);
    }
  }
  state.absent = false;
  if (!state.below || !round || !state.ports.right()) {
    const auto left = InDatabase(connections, rail);
    state.absent = left && !*left;
    state.left = left.value_or(std::nullopt);
  }
  EndRound(rail, state, round);
  SetFlowLimit(connections, state);
}

// What a whole round has found wrong stays wrong until the next whole round: a round of the rules alone does not repair it. A
// round that comes before the retry is due does not change when it is due.
void SwitchRepair::EndRound(const config::Rail& rail, RailState& state, const Status& round) {
  const Status& status = !state.below ? state.below : !round ? round : state.ports.right();
  node_status_.Note({Part::kRail, rail.name}, status);
  if (status) {
    state.backoff.Right();
  } else if (!state.backoff.next() || state.backoff.Due()) {
    state.backoff.Failed();
  }
  // A bridge that is not there, and rules that the switch refuses, have been looked at.
  if (state.rules_seen == RailState::RulesSeen::kNotLooked && !state.absent && !status) {
    return node_status_.Unseen(rail.name, status.error().message);
  }
  PortsSeen ports{.rules_right = state.rules_right(), .ports = {}};
  for (const auto& [name, port] : state.ports.seen()) {
    if (port.ofport > 0) ports.ports.insert(name);
  }
  node_status_.SetPorts(rail.name, std::move(ports));
  node_status_.ChangeRail(rail.name, [&](v1::Rail& seen) { state.Show(seen); });
}

void SwitchRepair::RailState::Show(v1::Rail& seen) const {
  seen.set_bridge_present(bridge_present);
  seen.set_bridge_mac(TextOf(facts.bridge_mac));
  seen.set_leaf_mac(TextOf(leaf_mac));
  seen.set_rules_wanted(rules.counts().wanted);
  seen.set_rules_installed(rules.counts().installed);
  seen.set_foreign_flows(rules.foreign().count());
  seen.mutable_vlans()->Assign(vlans.seen().begin(), vlans.seen().end());
  seen.clear_unseen();
  seen.clear_unseen_since();
}

// ovs-vswitchd forgets it when it restarts, which makes an audit.
void SwitchRepair::SetFlowLimit(Connections& connections, const RailState& state) {
  if (!flow_limit_due_ || !state.rules_right()) return;
  flow_limit_due_ = false;
  node_status_.Note(Part::kFlowLimit, connections.RaiseFlowLimit());
}

Status SwitchRepair::RepairPorts(Connections& connections, RailState& state) {
  Status repaired = state.ports.Repair(connections);
  if (!repaired && repaired.error().code == Code::kNotFound) state.bridge_present = false;
  return repaired;
}

// A tenant without its link keeps no other from its rules.
void SwitchRepair::RepairVlans(Connections& connections, const config::Rail& rail, RailState& state) {
  const Status made = state.vlan_repair.Repair(config_, connections, state.ports.seen(), deps_.now());
  const PartId part(Part::kTenantLinks, rail.name);
  if (!made || config_.tenancy.mode == config::TenancyMode::kVrf || node_status_.Knows(part))
    node_status_.Note(part, made);
}

Status SwitchRepair::LookForLeaf(Connections& connections, const config::Rail& rail, RailState& state) {
  RAIL_ASSIGN(netlink::Netlink * host, connections.Netlink());
  const std::shared_ptr<const engine::Learned> learned = node_status_.learned();
  if (config_.tenancy.mode == config::TenancyMode::kVrf) {
    RAIL_ASSIGN(const RecordPtr record, record_.Read());
    return state.vlans.Look(
        *host, rail, {state.ports.seen(), VlansPresent(config_, *record, rail), *learned, deps_.now()});
  }
  RAIL_ASSIGN_AS(const netlink::Link local, host->GetLink(rail.bridge), "rail " + rail.name);
  const auto session = learned->sessions.find(rail.bridge);
  RAIL_ASSIGN(const auto leaf,
              LeafOn(*host, local, session == learned->sessions.end() ? nullptr : &session->second));
  if (leaf) {
    if (state.leaf_mac != leaf->mac) {
      log::Info("rail {}: the leaf is {} at {}", rail.name, leaf->address.ToString(), leaf->mac.ToString());
    }
    state.leaf_mac = leaf->mac;
    return {};
  }
  // A neighbour entry that has aged out says nothing about the leaf: the last MAC stays.
  if (!state.leaf_mac.is_zero()) return {};
  return Fail(Code::kTransient, "no neighbour on " + rail.bridge +
                                    " is a router yet: is BGP unnumbered configured on the leaf's port?");
}

RuleTarget SwitchRepair::TargetOf(const config::Rail& rail, RailState& state, const Record& record,
                                  const std::shared_ptr<const engine::Learned>& learned) const {
  RuleTarget target{.rules = {},
                    .remotes_known = learned->complete,
                    .leaves_unknown = state.LeavesUnknown(),
                    .undecided = {},
                    .remove_nothing = !state.ports.unrecorded().empty()};
  LocalRules::Basis basis{
      .bridge = state.facts, .leaf_mac = state.leaf_mac, .pods = {}, .vlan_ports = state.vlans.ports()};
  RemoteSelection remotes{.learned = {learned, &learned->remotes},
                          .present = {},
                          .vlans = {},
                          .here = {},
                          .other_rails = {},
                          .only_rail = {}};
  if (!config_.tenancy.cross_rail) remotes.only_rail = rail.index;
  for (Attachment attachment : record.attachments) {
    // What a DEL could not remove is not wanted, and another pod may have its port and address by now.
    if (attachment.phase == Phase::kDeleting) continue;
    const auto& steps = record.steps.at(attachment.id);
    const pipeline::TenantIds tenants(attachment.tenant_id, attachment.leaving);
    // Mode `vrf`: a tenant that node.json gives no VLAN any more, or another, has no rules.
    const uint16_t vlan = VlanOf(state.facts.vlans, attachment, steps);
    const bool has_tenant = record.Has(attachment.id, step::kTenant) && !tenants.tenant.is_none() &&
                            (vlan != config::kNoVlan || state.facts.vlans.empty());
    if (attachment.rail != rail.name) {
      // A pod of this node on another rail is reached through the fabric, as any remote.
      if (!has_tenant || !config_.tenancy.cross_rail) continue;
      for (const IpAddress& address : attachment.addresses)
        remotes.other_rails.insert_or_assign({address, vlan}, tenants);
      continue;
    }
    attachment.ofport = state.ports.OfportOf(attachment);
    if (attachment.ofport == 0) {
      if (!has_tenant && !record.Has(attachment.id, step::kAdmit)) continue;
      // An ADD may have made its port and its rules since the ports were read. What the rules should be
      // is not known before the port's number is.
      const auto id = static_cast<uint64_t>(attachment.id);
      target.undecided.insert({ovs::Cookie(ovs::CookieKind::kAttachment, id),
                               ovs::Cookie(ovs::CookieKind::kTenant, id),
                               ovs::Cookie(ovs::CookieKind::kCompare, tenants.tenant.low),
                               ovs::Cookie(ovs::CookieKind::kCompare, tenants.leaving.low)});
      continue;
    }
    for (const IpAddress& address : attachment.addresses) remotes.here.emplace(address, vlan);
    if (has_tenant) remotes.present.insert(tenants.tenant);
    if (has_tenant && !tenants.leaving.is_none()) remotes.present.insert(tenants.leaving);
    if (has_tenant && vlan != config::kNoVlan) remotes.vlans[tenants.tenant] = vlan;
    basis.pods.push_back({std::move(attachment), steps});
  }
  basis.left = remotes.Left();
  target.rules = BridgeRules(state.facts, state.local_rules.For(std::move(basis)), std::move(remotes));
  return target;
}

void SwitchRepair::LogRepairs(const config::Rail& rail, RailState& state, const Record& record) {
  const Deadline now = deps_.now();
  if (state.next_log && now < *state.next_log) return;
  if (!state.unlogged.empty()) {
    log::Warning("rail {}: {}", rail.name, WordsFor(state.unlogged, rail.bridge, record));
    state.unlogged = {};
    state.next_log = now + kLogInterval;
  }
  const ForeignRules& foreign = state.rules.foreign();
  if (std::exchange(state.foreign_logged, foreign.count()) == foreign.count()) return;
  if (foreign.count() == 0)
    return log::Info("rail {}: no flow of others is left on {}", rail.name, rail.bridge);
  log::Warning(
      "rail {}: {} flows on {} are not RailCNI's and can go around the isolation, as {}; `{}` deletes it",
      rail.name, foreign.count(), rail.bridge, RuleText(foreign.examples().front()),
      DeletingCommand(rail.bridge, foreign.examples().front()));
  state.next_log = now + kLogInterval;
}

// What fails here RepairRules tells.
void SwitchRepair::SendRules(Connections& connections, const config::Rail& rail, RailState& state) {
  if (!state.bridge_present) return;
  const auto record = record_.Read();
  const auto bridge = record ? connections.OpenFlow(rail.bridge) : tl::make_unexpected(record.error());
  if (bridge)
    state.rules.Send(**bridge, TargetOf(rail, state, **record, node_status_.learned()),
                     connections.CallDeadline(), connections.beside());
}

// Reads the record again after the commit. If it has changed in between, does another round.
Status SwitchRepair::RepairRules(Connections& connections, const config::Rail& rail, RailState& state,
                                 RuleRepair::Look look) {
  const std::shared_ptr<const engine::Learned> learned = node_status_.learned();
  state.rules_seen = RailState::RulesSeen::kNotLooked;
  state.tenant_stays.reset();
  RAIL_ASSIGN(ovs::OpenFlow * bridge, connections.OpenFlow(rail.bridge));
  RAIL_ASSIGN(FileLock joining, MoveAttachments(connections, rail));
  RecordPtr record;
  bool ports_looked_at = false;
  const auto target = [&]() -> Result<RuleTarget> {
    RAIL_ASSIGN(record, record_.Read());
    RuleTarget now = TargetOf(rail, state, *record, learned);
    if (now.undecided.empty() || std::exchange(ports_looked_at, true)) return now;
    RAIL_ASSIGN(record, state.ports.See(connections));
    return TargetOf(rail, state, *record, learned);
  };
  // By then the rules of who has moved are in the switch.
  const auto close_tenants = [&] {
    joining = {};
    return CloseTenants(connections, rail);
  };
  const RuleRepair::Ask ask{.target = target,
                            .close_tenants = close_tenants,
                            .deadline = [&] { return connections.CallDeadline(); },
                            .remove_foreign = RemovesForeignRules(rail)};
  for (int round = 0; round < 5; ++round) {
    const auto began = Clock::now();
    Status repaired = state.rules.Repair(*bridge, ask, look);
    node_status_.Repaired("foreign flow", state.rules.mended().foreign);
    state.unlogged.Join(state.rules.mended());
    if (!repaired) {
      if (repaired.error().code == Code::kInvalid) state.rules_seen = RailState::RulesSeen::kRefused;
      return repaired;
    }
    const RuleCounts& counts = state.rules.counts();
    node_status_.Repaired("rules", state.rules.mended().ours());
    if (counts.added + counts.removed >= kManyRules) {
      log::Info("rail {}: {} rules added, {} removed, in {} ms", rail.name, counts.added, counts.removed,
                std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began).count());
    }
    look = RuleRepair::Look::kNews;
    RAIL_ASSIGN(const RecordPtr now, record_.Read());
    if (now == record) break;
  }  // if plugins keep changing the record, their wakeups start the next round
  LogRepairs(rail, state, *record);
  if (state.rules.tenant_stays()) state.tenant_stays = deps_.now() + kForJoining;
  state.rules_seen = RailState::RulesSeen::kRight;
  return {};
}

}  // namespace rail::engine
