#include "lib/engine/repair_switch.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "lib/base/log.h"

namespace rail::engine {
namespace {

using state::Attachment;
using state::Phase;

// Where a rule stands: another one put there is in its stead.
size_t PlaceOf(const ovs::Rule& rule) {
  return std::hash<std::string>()(rule.match) ^ (size_t{rule.table} << 16 | rule.priority);
}

// Nothing: no such bridge, or OVSDB does not answer.
std::optional<ovs::Bridge> InDatabase(Edges& edges, const config::Rail& rail) {
  const auto db = edges.Ovsdb();
  if (!db) return std::nullopt;
  auto found = (*db)->FindBridge(rail.bridge, edges.CallDeadline());
  return found ? std::move(*found) : std::nullopt;
}

}  // namespace

SwitchRepair::SwitchRepair(const config::NodeConfig& config, const Deps& deps, state::Store& store,
                           Picture& picture)
    : config_(config),
      deps_(deps),
      store_(store),
      picture_(picture),
      nics_(deps.openers(config), store, picture) {
  for (const config::Rail& rail : config_.rails) rails_[rail.name];
}

void SwitchRepair::Audit() {
  Edges edges(deps_.openers(config_), After(kRoundLimit));
  for (const config::Rail& rail : config_.rails) Whole(edges, rail);
  nics_.LookAtRdma();
  picture_.Publish(store_);
}

// A rail that failed waits for its time, unless others have changed something: what its last look tried and took back is told too.
void SwitchRepair::DatabaseChanged() {
  Edges edges(deps_.openers(config_), After(kRoundLimit));
  bool looked = false;
  for (const config::Rail& rail : config_.rails) {
    const RailState& state = rails_[rail.name];
    if (state.backoff.next() && InDatabase(edges, rail) == state.left) continue;
    Whole(edges, rail);
    looked = true;
  }
  if (looked) picture_.Publish(store_);
}

void SwitchRepair::Retry() {
  Edges edges(deps_.openers(config_), After(kRoundLimit));
  for (const config::Rail& rail : config_.rails) {
    if (rails_[rail.name].backoff.Due()) Whole(edges, rail);
  }
  picture_.Publish(store_);
}

std::optional<Deadline> SwitchRepair::next_retry() const {
  std::optional<Deadline> next;
  for (const auto& [name, state] : rails_) next = Earlier(next, state.backoff.next());
  return next;
}

bool SwitchRepair::Concerned(const std::vector<int>& links) const {
  return std::ranges::any_of(rails_, [&](const auto& entry) {
    const RailState& state = entry.second;
    return !state.bridge_present || std::ranges::find(links, state.uplink_link) != links.end() ||
           std::ranges::find(links, state.local_link) != links.end();
  });
}

bool SwitchRepair::Concerned(const std::string& bridge, const ovs::RuleChanges& changes) {
  for (const config::Rail& rail : config_.rails) {
    if (rail.bridge != bridge) continue;
    RailState& state = rails_[rail.name];
    // A hash that is another's by chance costs a look.
    const bool concerned = changes.ours || std::ranges::any_of(changes.others, [&](const ovs::Rule& rule) {
                             return std::ranges::binary_search(state.places, PlaceOf(rule));
                           });
    state.rules_changed = state.rules_changed || concerned;
    return concerned;
  }
  return false;
}

void SwitchRepair::RulesChanged() {
  Edges edges(deps_.openers(config_), After(kRoundLimit));
  bool looked = false;
  for (const config::Rail& rail : config_.rails) {
    RailState& state = rails_[rail.name];
    if (!state.bridge_present || !state.rules_changed) continue;
    End(rail, state, Rules(edges, rail, state, Look::kAlways));
    looked = true;
  }
  if (looked) picture_.Publish(store_);
}

void SwitchRepair::RecordChanged() {
  Edges edges(deps_.openers(config_), After(kRoundLimit));
  for (const config::Rail& rail : config_.rails) {
    RailState& state = rails_[rail.name];
    if (!state.bridge_present) continue;
    Status status = Ports(edges, rail, state);
    if (status) status = Rules(edges, rail, state, Look::kNews);
    End(rail, state, status);
  }
  picture_.Publish(store_);
}

void SwitchRepair::Learned() {
  Edges edges(deps_.openers(config_), After(kRoundLimit));
  for (const config::Rail& rail : config_.rails) {
    RailState& state = rails_[rail.name];
    if (!state.bridge_present) continue;
    picture_.Note("leaf of rail " + rail.name, LeafMac(edges, rail, state));
    End(rail, state, Rules(edges, rail, state, Look::kNews));
  }
  picture_.Publish(store_);
}

void SwitchRepair::Whole(Edges& edges, const config::Rail& rail) {
  RailState& state = rails_[rail.name];
  state.rules_right = false;
  nics_.Ensure(rail);
  state.below = Bridge(edges, rail, state);
  if (state.below) state.below = HostLinks(edges, rail, state);
  Status round;
  if (state.below) {
    if (config_.ovs.manage_bridges) picture_.Note("sysctls of rail " + rail.name, HostSysctls(rail));
    round = Ports(edges, rail, state);
    if (round) {
      picture_.Note("leaf of rail " + rail.name, LeafMac(edges, rail, state));
      round = Rules(edges, rail, state, Look::kAlways);
    }
  }
  End(rail, state, round);
  if (state.backoff.next()) state.left = InDatabase(edges, rail);
}

// What a whole look has found wrong stays so until the next: a round of the rules alone does not put it right, and a round that
// comes before its time changes nothing about that time.
void SwitchRepair::End(const config::Rail& rail, RailState& state, const Status& round) {
  const Status& status = !state.below ? state.below : !round ? round : state.ports_right;
  picture_.Note("rail " + rail.name, status);
  if (status) {
    state.backoff.Right();
  } else if (!state.backoff.next() || state.backoff.Due()) {
    state.backoff.Failed();
  }
  RailSeen seen{.bridge_present = state.bridge_present,
                .bridge_mac = state.facts.bridge_mac,
                .leaf_mac = state.leaf_mac,
                .rules_wanted = state.rules_wanted,
                .rules_installed = state.rules_installed,
                .rules_right = state.rules_right,
                .ports = {}};
  for (const auto& [name, port] : state.ports) {
    if (port.ofport > 0) seen.ports.insert(name);
  }
  picture_.SetRail(rail.name, std::move(seen));
}

Status SwitchRepair::Bridge(Edges& edges, const config::Rail& rail, RailState& state) {
  state.bridge_present = false;
  if (config_.ovs.manage_bridges) {
    RAIL_ASSIGN(netlink::Netlink * host, edges.Netlink());
    RAIL_ASSIGN_AS(const netlink::Link pf, host->GetLink(rail.pf), "the uplink of rail " + rail.name);
    RAIL_ASSIGN(ovs::Ovsdb * db, edges.Ovsdb());
    RAIL_ASSIGN(const ovs::Bridge bridge, db->EnsureBridge({.name = rail.bridge,
                                                            .datapath = config_.ovs.datapath,
                                                            .uplink = rail.pf,
                                                            .hwaddr = pf.mac.ToString(),
                                                            .mtu = rail.mtu,
                                                            .external_ids = {{kOwnerKey, rail.name}}},
                                                           edges.CallDeadline()));
  }
  Node node{config_, store_, edges};
  RAIL_ASSIGN(state.facts, Facts(node, rail));
  state.bridge_present = true;
  return {};
}

Status SwitchRepair::HostLinks(Edges& edges, const config::Rail& rail, RailState& state) {
  RAIL_ASSIGN(netlink::Netlink * host, edges.Netlink());
  RAIL_ASSIGN_AS(const netlink::Link pf, host->GetLink(rail.pf), "the uplink of rail " + rail.name);
  RAIL_ASSIGN_AS(const netlink::Link local, host->GetLink(rail.bridge), "rail " + rail.name);
  state.uplink_link = pf.index;
  state.local_link = local.index;
  if (!config_.ovs.manage_bridges) return {};
  if (!pf.up) RAIL_TRY(host->SetUp(pf.index));
  if (!local.up) RAIL_TRY(host->SetUp(local.index));
  return {};
}

// LOCAL speaks IPv6 link-local to the leaf and nothing else; the uplink speaks nothing. In a container /proc/sys may be
// read-only: pods work all the same, so this is told and does not stop the rail.
Status SwitchRepair::HostSysctls(const config::Rail& rail) {
  const auto ensure = [&](const std::string& link, const char* key, const char* value) -> Status {
    const std::string path = "net/ipv6/conf/" + link + "/" + key;
    RAIL_ASSIGN(const std::string now, netns::ReadSysctl(path));
    if (now == value) return {};
    picture_.Repaired("sysctl");
    return netns::WriteSysctl(path, value);
  };
  RAIL_TRY(ensure(rail.pf, "disable_ipv6", "1"));
  RAIL_TRY(ensure(rail.bridge, "disable_ipv6", "0"));
  // The leaf advertises itself as a router; the host's default route is not its business.
  return ensure(rail.bridge, "accept_ra", "0");
}

// Ports first, the record second: a port that no record names now was left behind, and is not one being made.
Result<Record> SwitchRepair::SeePorts(Edges& edges, const config::Rail& rail, RailState& state) {
  RAIL_ASSIGN(ovs::Ovsdb * db, edges.Ovsdb());
  RAIL_ASSIGN(const auto bridge, db->FindBridge(rail.bridge, edges.CallDeadline()));
  if (!bridge) {
    state.bridge_present = false;
    return Fail(Code::kTransient, "bridge " + rail.bridge + " is gone");
  }
  RAIL_ASSIGN(Record record, Record::Read(store_));
  state.ports.clear();
  for (const ovs::Port& port : bridge->ports) state.ports[port.name] = port;
  return record;
}

// Each port by itself: a device that is gone keeps neither the other ports nor the rules waiting. An error: Open vSwitch does not
// answer, or the ports are not known.
Status SwitchRepair::Ports(Edges& edges, const config::Rail& rail, RailState& state) {
  const Result<Record> record = SeePorts(edges, rail, state);
  state.ports_right = record ? Status() : tl::make_unexpected(record.error());
  if (!record) return state.ports_right;
  RAIL_ASSIGN(ovs::Ovsdb * db, edges.Ovsdb());
  for (const Attachment& attachment : record->attachments) {
    if (attachment.rail != rail.name || attachment.phase != Phase::kReady) continue;
    const Status mended = MendPort(*db, edges, rail, state, *record, attachment);
    if (state.ports_right) state.ports_right = mended;
    if (!mended && mended.error().code == Code::kTransient) return mended;
  }
  for (const auto& [name, port] : state.ports) {
    const auto mark = port.external_ids.find(kOwnerKey);
    if (mark == port.external_ids.end() || name == rail.bridge || name == rail.pf) continue;
    const bool known = std::ranges::any_of(record->attachments, [&](const Attachment& attachment) {
      return std::to_string(attachment.id) == mark->second;
    });
    // An adopted port carries our mark too, but its owner deletes it; contPodUid without ovs-cni's "owner" is ours.
    if (known || port.external_ids.contains("owner")) continue;
    RAIL_TRY(db->DeletePort(rail.bridge, name, {{kOwnerKey, mark->second}}, ovs::Ovsdb::Wait::kCommitted,
                            edges.CallDeadline()));
    log::Info("rail {}: port {} belonged to no attachment any more, removed from bridge {}", rail.name, name,
              rail.bridge);
    picture_.Repaired("orphan port");
  }
  return {};
}

Status SwitchRepair::MendPort(ovs::Ovsdb& db, Edges& edges, const config::Rail& rail, RailState& state,
                              const Record& record, const Attachment& attachment) {
  const bool made = record.Has(attachment.id, step::kPort);
  const auto there = state.ports.find(attachment.representor);
  if (there != state.ports.end() && (made || record.Has(attachment.id, step::kAdopt))) {
    RAIL_ASSIGN(const bool marked, Mark(db, edges, rail, attachment, there->second, made));
    // What was seen may be the port of the device's last owner, with another number.
    if (marked) {
      RAIL_ASSIGN(const auto now, db.FindPort(attachment.representor, edges.CallDeadline()));
      if (now) there->second = *now;
    }
  }
  if (made && there == state.ports.end()) {
    RAIL_TRY(TakeBack(db, edges, rail, attachment));
    RAIL_ASSIGN(state.ports[attachment.representor],
                db.AddPort(PortSpecOf(rail, attachment), edges.CallDeadline()));
    log::Info("rail {}: port {} was missing on bridge {}, added again", rail.name, attachment.representor,
              rail.bridge);
    picture_.Repaired("port");
  }
  const uint16_t ofport = OfportOf(state, attachment);
  if (ofport != 0 && ofport != attachment.ofport) return store_.SetOfport(attachment.id, ofport);
  return {};
}

// What says whose port it is: DEL and the sweep go by it.
Result<bool> SwitchRepair::Mark(ovs::Ovsdb& db, Edges& edges, const config::Rail& rail,
                                const Attachment& attachment, const ovs::Port& port, bool made) {
  ovs::ExternalIds wrong;
  for (const auto& [key, value] : made ? PortIds(attachment) : ovs::ExternalIds{}) {
    const auto seen = port.external_ids.find(key);
    if (seen == port.external_ids.end() || seen->second != value) wrong[key] = value;
  }
  const std::string id = std::to_string(attachment.id);
  const auto mark = port.external_ids.find(kOwnerKey);
  if (mark == port.external_ids.end() || mark->second != id) wrong[kOwnerKey] = id;
  if (wrong.empty()) return false;
  RAIL_TRY(db.SetExternalIds(port.name, wrong, edges.CallDeadline()));
  log::Info("rail {}: port {} had lost {} of its external_ids, set again", rail.name, port.name,
            wrong.size());
  picture_.Repaired("external_ids");
  return true;
}

// The record says that the device behind this port is a pod's of ours; on another bridge its frames would pass no rule of ours.
Status SwitchRepair::TakeBack(ovs::Ovsdb& db, Edges& edges, const config::Rail& rail,
                              const Attachment& attachment) {
  RAIL_ASSIGN(const auto port, db.FindPort(attachment.representor, edges.CallDeadline()));
  if (!port || port->bridge == rail.bridge) return {};
  log::Warning("rail {}: port {} was moved to bridge {}, taken back", rail.name, port->name, port->bridge);
  return db.DeletePort(port->bridge, port->name, {}, ovs::Ovsdb::Wait::kCommitted, edges.CallDeadline());
}

// The leaf's MAC is that of the BGP neighbour where there is one, else of the router that the kernel has heard on LOCAL.
Status SwitchRepair::LeafMac(Edges& edges, const config::Rail& rail, RailState& state) {
  RAIL_ASSIGN(netlink::Netlink * host, edges.Netlink());
  RAIL_ASSIGN_AS(const netlink::Link local, host->GetLink(rail.bridge), "rail " + rail.name);
  RAIL_ASSIGN(const std::vector<netlink::Neighbour> neighbours, host->ListNeighbours(local.index));
  std::optional<IpAddress> peer;
  const std::shared_ptr<const engine::Learned> learned = picture_.learned();
  if (const auto session = learned->sessions.find(rail.bridge); session != learned->sessions.end())
    peer = session->second.peer;
  for (const netlink::Neighbour& neighbour : neighbours) {
    if (!neighbour.usable || neighbour.mac.is_zero()) continue;
    if (peer ? neighbour.address == *peer : neighbour.router) {
      if (state.leaf_mac != neighbour.mac) {
        log::Info("rail {}: the leaf is {} at {}", rail.name, neighbour.address.ToString(),
                  neighbour.mac.ToString());
      }
      state.leaf_mac = neighbour.mac;
      return {};
    }
  }
  // A neighbour entry that has aged out says nothing about the leaf: the last address stays.
  if (!state.leaf_mac.is_zero()) return {};
  return Fail(Code::kTransient, "no neighbour on " + rail.bridge +
                                    " is a router yet: is BGP unnumbered configured on the leaf's port?");
}

// By the port's mark: the port of this name that was seen may be the device's last owner's. 0: the attachment's was not seen.
uint16_t SwitchRepair::OfportOf(const RailState& state, const Attachment& attachment) {
  const auto port = state.ports.find(attachment.representor);
  if (port == state.ports.end() || port->second.ofport < 1) return 0;
  const auto mark = port->second.external_ids.find(kOwnerKey);
  const bool its = mark != port->second.external_ids.end() && mark->second == std::to_string(attachment.id);
  return its ? static_cast<uint16_t>(port->second.ofport) : 0;
}

std::vector<ovs::Rule> SwitchRepair::Wanted(const config::Rail& rail, const RailState& state,
                                            const Record& record, const engine::Learned& learned) const {
  std::vector<ovs::Rule> rules = pipeline::ControlRules(state.facts, config_.tenancy.mode);
  std::set<tenancy::TenantId> present;
  std::map<IpAddress, tenancy::TenantId> elsewhere;
  std::set<IpAddress> here;
  for (Attachment attachment : record.attachments) {
    // What a DEL could not remove is not wanted, and another pod may have its port and address by now.
    if (attachment.phase == Phase::kDeleting) continue;
    const auto& steps = record.steps.at(attachment.id);
    const bool has_tenant = record.Has(attachment.id, step::kTenant) && !attachment.tenant_id.is_none();
    if (attachment.rail != rail.name) {
      // A pod of this node on another rail is reached through the fabric, as any remote.
      if (!has_tenant) continue;
      for (const IpAddress& address : attachment.addresses) elsewhere[address] = attachment.tenant_id;
      continue;
    }
    attachment.ofport = OfportOf(state, attachment);
    if (attachment.ofport == 0) continue;
    pipeline::Append(rules, WantedRules(state.facts, attachment, steps));
    here.insert(attachment.addresses.begin(), attachment.addresses.end());
    if (has_tenant) present.insert(attachment.tenant_id);
  }
  for (const tenancy::TenantId tenant : present) {
    const auto remotes = learned.remotes.by_tenant.find(tenant);
    if (remotes == learned.remotes.by_tenant.end()) continue;
    for (const frr::Remote& remote : *remotes->second) {
      if (!learned.remotes.contested.contains(remote.address)) elsewhere.emplace(remote.address, tenant);
    }
  }
  for (const auto& [address, tenant] : elsewhere) {
    if (here.contains(address) || !present.contains(tenant)) continue;
    pipeline::Append(rules, pipeline::RemoteRules(state.facts, address, tenant));
  }
  if (!state.leaf_mac.is_zero()) pipeline::Append(rules, pipeline::LeafRules(state.facts, state.leaf_mac));
  return rules;
}

// The cookies of attachments whose port was not there when last looked: an ADD may have made it since, and its rules. What they
// should be is not known before the port's number is.
std::set<uint64_t> SwitchRepair::Unplaced(const config::Rail& rail, const RailState& state,
                                          const Record& record) const {
  std::set<uint64_t> cookies;
  for (const Attachment& attachment : record.attachments) {
    if (attachment.rail != rail.name || attachment.phase == Phase::kDeleting) continue;
    if (!record.Has(attachment.id, step::kAdmit) && !record.Has(attachment.id, step::kTenant)) continue;
    if (OfportOf(state, attachment) != 0) continue;
    const auto id = static_cast<uint64_t>(attachment.id);
    cookies.insert({ovs::Cookie(ovs::CookieKind::kAttachment, id), ovs::Cookie(ovs::CookieKind::kTenant, id),
                    ovs::Cookie(ovs::CookieKind::kCompare, attachment.tenant_id.low)});
  }
  return cookies;
}

// The dump first, the record second: a plugin records before it writes, so a rule in the dump that no record explains was
// left behind. After the commit the record is looked at again: what changed in between asks for another round.
Status SwitchRepair::Rules(Edges& edges, const config::Rail& rail, RailState& state, Look look) {
  const std::shared_ptr<const engine::Learned> learned = picture_.learned();
  const bool judge = learned->complete && !state.leaf_mac.is_zero();
  if (look == Look::kNews && state.rules_right && !state.rules_changed && state.judged == judge) {
    RAIL_ASSIGN(const Record record, Record::Read(store_));
    if (Wanted(rail, state, record, *learned) == state.wanted) return {};
  }
  state.rules_right = false;
  RAIL_ASSIGN(ovs::OpenFlow * switch_, edges.OpenFlow(rail.bridge));
  bool ports_looked_at = false;
  for (int round = 0; round < 5; ++round) {
    RAIL_ASSIGN(const auto dumped, switch_->Dump(ovs::CookieMatch::Ours(), edges.CallDeadline()));
    state.rules_changed = false;
    RAIL_ASSIGN(const int64_t version, store_.Version());
    RAIL_ASSIGN(const Record record, Record::Read(store_));
    const auto unplaced = Unplaced(rail, state, record);
    if (!unplaced.empty() && !std::exchange(ports_looked_at, true)) {
      RAIL_TRY(SeePorts(edges, rail, state));
      continue;
    }

    std::vector<ovs::Rule> have;
    have.reserve(dumped.size());
    for (const ovs::RuleStats& stats : dumped) have.push_back(stats.rule);
    state.wanted = Wanted(rail, state, record, *learned);
    std::vector<ovs::Rule> want;
    std::set<std::tuple<uint8_t, uint16_t, std::string>> unique;
    state.places.clear();
    for (const ovs::Rule& rule : state.wanted) {
      RAIL_ASSIGN(ovs::Rule canonical, ovs::Canonical(rule));
      if (!unique.emplace(canonical.table, canonical.priority, canonical.match).second) continue;
      state.places.push_back(PlaceOf(canonical));
      want.push_back(std::move(canonical));
    }
    std::ranges::sort(state.places);
    ovs::Change change = ovs::Difference(have, want);
    // What this raild has not learned yet an earlier one may have: its rules stay until there is something better.
    std::erase_if(change.remove, [&](const ovs::Rule& rule) {
      if (unplaced.contains(rule.cookie)) return true;
      if (state.own.contains(rule)) return false;
      const bool remote = ovs::CookieMatch::Kind(ovs::CookieKind::kRemote).Selects(rule.cookie);
      const bool leaf = ovs::CookieMatch::Kind(ovs::CookieKind::kLeaf).Selects(rule.cookie);
      return (remote && !learned->complete) || (leaf && state.leaf_mac.is_zero());
    });
    state.rules_wanted = want.size();
    state.rules_installed = dumped.size();
    if (!change.empty()) {
      RAIL_TRY(switch_->Commit(change, edges.CallDeadline()));
      picture_.Repaired("rules", change.add.size() + change.remove.size());
      state.rules_installed = want.size();
      log::Debug("rail {}: {} rules added, {} removed", rail.name, change.add.size(), change.remove.size());
    }
    state.rules_right = true;
    state.judged = judge;
    state.own.clear();
    if (!state.judged) state.own.insert(want.begin(), want.end());
    RAIL_ASSIGN(const int64_t now, store_.Version());
    if (now == version) return {};
  }
  return {};  // plugins keep working; their pokes bring the next round
}

}  // namespace rail::engine
