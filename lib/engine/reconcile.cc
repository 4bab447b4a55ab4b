#include "lib/engine/reconcile.h"

#include <algorithm>
#include <tuple>

#include "lib/base/log.h"

namespace rail::engine {
namespace {

using state::Attachment;
using state::Phase;
using state::Step;

constexpr std::chrono::seconds kRoundLimit{20};

// A session that has just come up may not have sent everything yet; one that is down comes back within the leaf's graceful
// restart time, or the remotes behind it are gone for good.
constexpr std::chrono::milliseconds kSettled{5000};
constexpr std::chrono::seconds kStale{120};

bool NamespaceIsGone(const Attachment& attachment) {
  const auto pod = netns::Netns::Open(attachment.netns_path);
  if (!pod) return pod.error().code == Code::kNotFound || pod.error().code == Code::kInvalid;
  return !(pod->identity() == netns::Identity{attachment.netns_device, attachment.netns_inode});
}

}  // namespace

Reconciler::Reconciler(const config::NodeConfig& config, const Deps& deps, state::Store& store, Board& board,
                       NodeIdentity identity, Clock::duration gone_grace)
    : config_(config),
      deps_(deps),
      store_(store),
      board_(board),
      identity_(std::move(identity)),
      gone_grace_(gone_grace) {
  for (const config::Rail& rail : config_.rails) rails_[rail.name];
}

bool Reconciler::Record::Has(int64_t attachment, const char* kind) const {
  const auto it = steps.find(attachment);
  return it != steps.end() &&
         std::ranges::any_of(it->second, [&](const Step& step) { return step.kind == kind; });
}

Result<Reconciler::Record> Reconciler::ReadRecord() {
  Record record;
  RAIL_ASSIGN(record.attachments, store_.List());
  for (const Attachment& attachment : record.attachments) {
    RAIL_ASSIGN(record.steps[attachment.id], store_.Steps(attachment.id));
  }
  return record;
}

void Reconciler::Note(const std::string& part, const Status& status) {
  Health& health = health_[part];
  const std::string problem = status ? "" : status.error().message;
  if (health.part.empty() || health.problem != problem) {
    if (!status) log::Warning("{}: {}", part, problem);
    if (status && !health.part.empty()) log::Info("{}: right again", part);
  }
  health = {part, status.has_value(), problem};
}

void Reconciler::Audit() {
  Edges edges(deps_.openers(config_), After(kRoundLimit));
  // The order keeps routes at the leaf through a restart of bgpd: the instance, the addresses, and only then the sessions,
  // which end the leaf's graceful restart with everything announced.
  if (config_.bgp.manage) Note("bgp instance", BgpBase(edges, {}));
  Note("bgp announcements", Announcements(edges));
  if (config_.bgp.manage) Note("bgp sessions", BgpBase(edges, config_.rails));
  bool changed = false;
  Note("bgp", Learn(edges, changed));
  BridgesAndRules(edges);
  Sweep(edges);
  Publish();
}

void Reconciler::BridgesChanged() {
  Edges edges(deps_.openers(config_), After(kRoundLimit));
  BridgesAndRules(edges);
  Publish();
}

bool Reconciler::Concerned(const std::vector<int>& links) const {
  return std::ranges::any_of(rails_, [&](const auto& entry) {
    const RailState& state = entry.second;
    return !state.bridge_present || std::ranges::find(links, state.uplink_link) != links.end() ||
           std::ranges::find(links, state.local_link) != links.end();
  });
}

void Reconciler::RecordChanged() {
  Edges edges(deps_.openers(config_), After(kRoundLimit));
  for (const config::Rail& rail : config_.rails) {
    RailState& state = rails_[rail.name];
    if (!state.bridge_present) continue;
    Status status = Ports(edges, rail, state);
    if (status) status = Rules(edges, rail, state, Look::kNews);
    Note("rail " + rail.name, status);
  }
  Publish();
}

void Reconciler::PollBgp() {
  Edges edges(deps_.openers(config_), After(kRoundLimit));
  bool news = false;
  Note("bgp", Learn(edges, news));
  const bool all_bridges =
      std::ranges::all_of(rails_, [](const auto& rail) { return rail.second.bridge_present; });
  if (!all_bridges) {
    BridgesAndRules(edges);
    return Publish();
  }
  for (const config::Rail& rail : config_.rails) {
    RailState& state = rails_[rail.name];
    const MacAddress before = state.leaf_mac;
    Note("leaf of rail " + rail.name, LeafMac(edges, rail, state));
    news = news || state.leaf_mac != before;
  }
  if (!news) return;
  for (const config::Rail& rail : config_.rails) {
    Note("rail " + rail.name, Rules(edges, rail, rails_[rail.name], Look::kNews));
  }
  Publish();
}

void Reconciler::BridgesAndRules(Edges& edges) {
  for (const config::Rail& rail : config_.rails) {
    RailState& state = rails_[rail.name];
    state.rules_right = false;
    Status status = Bridge(edges, rail, state);
    if (status) status = HostLinks(edges, rail, state);
    if (status && config_.ovs.manage_bridges) Note("sysctls of rail " + rail.name, HostSysctls(rail));
    if (status) status = Ports(edges, rail, state);
    if (status) {
      Note("leaf of rail " + rail.name, LeafMac(edges, rail, state));
      status = Rules(edges, rail, state, Look::kAlways);
    }
    Note("rail " + rail.name, status);
  }
}

Status Reconciler::Bridge(Edges& edges, const config::Rail& rail, RailState& state) {
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

Status Reconciler::HostLinks(Edges& edges, const config::Rail& rail, RailState& state) {
  RAIL_ASSIGN(netlink::Netlink * host, edges.Netlink());
  RAIL_ASSIGN_AS(const netlink::Link pf, host->GetLink(rail.pf), "the uplink of rail " + rail.name);
  RAIL_ASSIGN_AS(const netlink::Link local, host->GetLink(rail.bridge), "rail " + rail.name);
  state.uplink_carrier = pf.carrier;
  state.uplink_link = pf.index;
  state.local_link = local.index;
  if (!config_.ovs.manage_bridges) return {};
  if (!pf.up) RAIL_TRY(host->SetUp(pf.index));
  if (!local.up) RAIL_TRY(host->SetUp(local.index));
  return {};
}

// LOCAL speaks IPv6 link-local to the leaf and nothing else; the uplink speaks nothing. In a container /proc/sys may be
// read-only: pods work all the same, so this is told and does not stop the rail.
Status Reconciler::HostSysctls(const config::Rail& rail) {
  const auto ensure = [&](const std::string& link, const char* key, const char* value) -> Status {
    const std::string path = "net/ipv6/conf/" + link + "/" + key;
    RAIL_ASSIGN(const std::string now, netns::ReadSysctl(path));
    if (now == value) return {};
    ++repairs_;
    return netns::WriteSysctl(path, value);
  };
  RAIL_TRY(ensure(rail.pf, "disable_ipv6", "1"));
  RAIL_TRY(ensure(rail.bridge, "disable_ipv6", "0"));
  // The leaf advertises itself as a router; the host's default route is not its business.
  return ensure(rail.bridge, "accept_ra", "0");
}

// Ports first, the record second: a port that no record names now was left behind, and is not one being made.
Status Reconciler::Ports(Edges& edges, const config::Rail& rail, RailState& state) {
  RAIL_ASSIGN(ovs::Ovsdb * db, edges.Ovsdb());
  RAIL_ASSIGN(const auto bridge, db->FindBridge(rail.bridge, edges.CallDeadline()));
  if (!bridge) {
    state.bridge_present = false;
    return Fail(Code::kTransient, "bridge " + rail.bridge + " is gone");
  }
  RAIL_ASSIGN(const Record record, ReadRecord());
  state.ports.clear();
  for (const ovs::Port& port : bridge->ports) state.ports[port.name] = port;

  for (const Attachment& attachment : record.attachments) {
    if (attachment.rail != rail.name || attachment.phase != Phase::kReady) continue;
    if (record.Has(attachment.id, step::kPort) && !state.ports.contains(attachment.representor)) {
      RAIL_ASSIGN(state.ports[attachment.representor],
                  db->AddPort(PortSpecOf(rail, attachment), edges.CallDeadline()));
      log::Info("rail {}: port {} was missing on bridge {}, added again", rail.name, attachment.representor,
                rail.bridge);
      ++repairs_;
    }
    const auto port = state.ports.find(attachment.representor);
    if (port != state.ports.end() && port->second.ofport > 0 && port->second.ofport != attachment.ofport) {
      RAIL_TRY(store_.SetOfport(attachment.id, static_cast<uint16_t>(port->second.ofport)));
    }
  }
  for (const auto& [name, port] : state.ports) {
    const auto mark = port.external_ids.find(kOwnerKey);
    if (mark == port.external_ids.end() || name == rail.bridge || name == rail.pf) continue;
    const bool known = std::ranges::any_of(record.attachments, [&](const Attachment& attachment) {
      return std::to_string(attachment.id) == mark->second;
    });
    // An adopted port carries our mark too, but its owner deletes it; contPodUid without ovs-cni's "owner" is ours.
    if (known || port.external_ids.contains("owner")) continue;
    RAIL_TRY(db->DeletePort(rail.bridge, name, {{kOwnerKey, mark->second}}, ovs::Ovsdb::Wait::kCommitted,
                            edges.CallDeadline()));
    log::Info("rail {}: port {} belonged to no attachment any more, removed from bridge {}", rail.name, name,
              rail.bridge);
    ++repairs_;
  }
  return {};
}

// The leaf's MAC is that of the BGP neighbour where there is one, else of the router that the kernel has heard on LOCAL.
Status Reconciler::LeafMac(Edges& edges, const config::Rail& rail, RailState& state) {
  RAIL_ASSIGN(netlink::Netlink * host, edges.Netlink());
  RAIL_ASSIGN_AS(const netlink::Link local, host->GetLink(rail.bridge), "rail " + rail.name);
  RAIL_ASSIGN(const std::vector<netlink::Neighbour> neighbours, host->ListNeighbours(local.index));
  std::optional<IpAddress> peer;
  if (const auto session = sessions_.find(rail.bridge); session != sessions_.end())
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

std::vector<ovs::Rule> Reconciler::Wanted(const config::Rail& rail, const RailState& state,
                                          const Record& record) const {
  std::vector<ovs::Rule> rules = pipeline::ControlRules(state.facts, config_.tenancy.mode);
  std::set<tenancy::TenantId> present;
  std::map<IpAddress, tenancy::TenantId> elsewhere;
  std::set<IpAddress> here;
  for (Attachment attachment : record.attachments) {
    // What a DEL could not remove is not wanted, and another pod may have its port and address by now.
    if (attachment.phase == Phase::kDeleting) continue;
    const auto& steps = record.steps.at(attachment.id);
    const bool has_tenant = record.Has(attachment.id, step::kTenant) && attachment.tenant_id != 0;
    if (attachment.rail != rail.name) {
      // A pod of this node on another rail is reached through the fabric, as any remote.
      if (!has_tenant) continue;
      for (const IpAddress& address : attachment.addresses) elsewhere[address] = {attachment.tenant_id};
      continue;
    }
    const auto port = state.ports.find(attachment.representor);
    if (port == state.ports.end() || port->second.ofport < 1) continue;
    attachment.ofport = static_cast<uint16_t>(port->second.ofport);
    pipeline::Append(rules, WantedRules(state.facts, attachment, steps));
    here.insert(attachment.addresses.begin(), attachment.addresses.end());
    if (has_tenant) present.insert({attachment.tenant_id});
  }
  for (const auto& [address, remote] : remotes_) elsewhere.emplace(address, remote.tenant);
  for (const auto& [address, tenant] : elsewhere) {
    if (here.contains(address) || !present.contains(tenant)) continue;
    pipeline::Append(rules, pipeline::RemoteRules(state.facts, address, tenant));
  }
  if (!state.leaf_mac.is_zero()) pipeline::Append(rules, pipeline::LeafRules(state.facts, state.leaf_mac));
  return rules;
}

// The dump first, the record second: a plugin records before it writes, so a rule in the dump that no record explains was
// left behind. After the commit the record is looked at again: what changed in between asks for another round.
Status Reconciler::Rules(Edges& edges, const config::Rail& rail, RailState& state, Look look) {
  if (look == Look::kNews && state.rules_right) {
    RAIL_ASSIGN(const Record record, ReadRecord());
    if (Wanted(rail, state, record) == state.wanted) return {};
  }
  state.rules_right = false;
  RAIL_ASSIGN(ovs::OpenFlow * switch_, edges.OpenFlow(rail.bridge));
  for (int round = 0; round < 5; ++round) {
    RAIL_ASSIGN(const auto dumped, switch_->Dump(ovs::CookieMatch::Ours(), edges.CallDeadline()));
    RAIL_ASSIGN(const int64_t version, store_.Version());
    RAIL_ASSIGN(const Record record, ReadRecord());

    std::vector<ovs::Rule> have;
    have.reserve(dumped.size());
    for (const ovs::RuleStats& stats : dumped) {
      // What this raild has not learned yet an earlier one may have: its rules stay until there is something better.
      const bool remote = ovs::CookieMatch::Kind(ovs::CookieKind::kRemote).Selects(stats.rule.cookie);
      const bool leaf = ovs::CookieMatch::Kind(ovs::CookieKind::kLeaf).Selects(stats.rule.cookie);
      if ((remote && !remotes_complete_) || (leaf && state.leaf_mac.is_zero())) continue;
      have.push_back(stats.rule);
    }
    state.wanted = Wanted(rail, state, record);
    std::vector<ovs::Rule> want;
    std::set<std::tuple<uint8_t, uint16_t, std::string>> unique;
    for (const ovs::Rule& rule : state.wanted) {
      RAIL_ASSIGN(ovs::Rule canonical, ovs::Canonical(rule));
      if (unique.emplace(canonical.table, canonical.priority, canonical.match).second)
        want.push_back(std::move(canonical));
    }
    const ovs::Change change = ovs::Difference(have, want);
    state.rules_wanted = want.size();
    state.rules_installed = dumped.size();
    if (!change.empty()) {
      RAIL_TRY(switch_->Commit(change, edges.CallDeadline()));
      repairs_ += change.add.size() + change.remove.size();
      state.rules_installed = want.size();
      log::Debug("rail {}: {} rules added, {} removed", rail.name, change.add.size(), change.remove.size());
    }
    state.rules_right = true;
    RAIL_ASSIGN(const int64_t now, store_.Version());
    if (now == version) return {};
  }
  return {};  // plugins keep working; their pokes bring the next round
}

Status Reconciler::BgpBase(Edges& edges, const std::vector<config::Rail>& rails) {
  RAIL_ASSIGN(frr::Bgp * bgp, edges.Bgp());
  frr::BaseConfig base{.router_id = config_.bgp.router_id, .rails = {}};
  for (const config::Rail& rail : rails) base.rails.push_back({rail.name, rail.index, rail.bridge});
  RAIL_ASSIGN(const std::vector<std::string> sent, bgp->EnsureBase(base, edges.CallDeadline()));
  if (!sent.empty()) log::Info("bgpd: {} lines of the base configuration sent", sent.size());
  repairs_ += sent.size();
  return {};
}

// bgpd first, the record second, as everywhere.
Status Reconciler::Announcements(Edges& edges) {
  RAIL_ASSIGN(frr::Bgp * bgp, edges.Bgp());
  RAIL_ASSIGN(const std::vector<frr::Announcement> seen, bgp->Announced(edges.CallDeadline()));
  RAIL_ASSIGN(const Record record, ReadRecord());
  std::map<IpAddress, frr::Announcement> wanted;
  std::set<IpAddress> explained;  // by an ADD or DEL that may be under way
  for (const Attachment& attachment : record.attachments) {
    const config::Rail* rail = config_.FindRail(attachment.rail);
    if (rail == nullptr || !record.Has(attachment.id, step::kAnnounce)) continue;
    explained.insert(attachment.addresses.begin(), attachment.addresses.end());
    if (!attachment.announced || attachment.phase == Phase::kDeleting) continue;
    for (const IpAddress& address : attachment.addresses) {
      wanted[address] = {address, rail->name, rail->index, {attachment.tenant_id}};
    }
  }
  for (const frr::Announcement& announcement : seen) {
    const auto it = wanted.find(announcement.address);
    if (!explained.contains(announcement.address)) {
      RAIL_TRY(bgp->Withdraw(announcement.address, edges.CallDeadline()));
      log::Info("bgpd: {} belonged to no attachment any more, withdrawn",
                announcement.address.ToHostPrefix());
      ++repairs_;
    } else if (it != wanted.end() && it->second == announcement) {
      wanted.erase(it);
    }
  }
  if (wanted.empty()) return {};
  std::vector<frr::Announcement> missing;
  for (const auto& [address, announcement] : wanted) missing.push_back(announcement);
  RAIL_TRY(bgp->AnnounceAll(missing, edges.CallDeadline()));
  log::Info("bgpd: {} addresses were not announced as recorded, announced again", missing.size());
  repairs_ += missing.size();
  return {};
}

bool Reconciler::SessionsSettled() const {
  return std::ranges::all_of(config_.rails, [&](const config::Rail& rail) {
    const auto session = sessions_.find(rail.bridge);
    return session != sessions_.end() && session->second.established() &&
           std::chrono::milliseconds(session->second.uptime_ms) >= kSettled;
  });
}

// A restart of bgpd or a flap of a session empties bgpd's table for a moment. Pods keep talking meanwhile: a remote goes when
// settled sessions no longer carry it, or when the sessions have not settled in time.
Status Reconciler::Learn(Edges& edges, bool& changed) {
  auto bgp = edges.Bgp();
  if (!bgp) {
    table_version_.reset();  // the next bgpd counts anew
    return tl::make_unexpected(bgp.error());
  }
  RAIL_ASSIGN(const std::vector<frr::Session> sessions, (*bgp)->Sessions(edges.CallDeadline()));
  for (const frr::Session& session : sessions) {
    frr::Session& before = sessions_[session.interface];
    changed = changed || before.state != session.state ||
              before.prefixes_received != session.prefixes_received ||
              before.prefixes_sent != session.prefixes_sent;
    if (before.state != session.state) log::Info("bgp session on {}: {}", session.interface, session.state);
    // A session that went down and came back between two looks is younger than it was.
    if (before.state != session.state || session.uptime_ms < before.uptime_ms) table_version_.reset();
    before = session;
  }
  if (SessionsSettled()) {
    keep_until_.reset();
  } else if (!keep_until_) {
    keep_until_ = After(kStale);
  }
  const bool keep = keep_until_ && Clock::now() < *keep_until_;
  if (keeping_ && !keep) table_version_.reset();

  RAIL_ASSIGN(const uint64_t table_version, (*bgp)->TableVersion(edges.CallDeadline()));
  if (table_version_ == table_version) return {};
  RAIL_ASSIGN(const std::vector<frr::Remote> heard, (*bgp)->Remotes(edges.CallDeadline()));
  std::map<IpAddress, frr::Remote> fresh;
  for (const frr::Remote& remote : heard) fresh.emplace(remote.address, remote);
  if (keep) fresh.insert(remotes_.begin(), remotes_.end());
  changed = changed || fresh != remotes_;
  remotes_ = std::move(fresh);
  table_version_ = table_version;
  keeping_ = keep;
  remotes_complete_ = remotes_complete_ || !keep;
  return {};
}

// Finishes what a DEL had to leave, and undoes attachments whose namespace has been gone for a while: Multus sends neither
// GC nor a second DEL.
void Reconciler::Sweep(Edges& edges) {
  const auto record = ReadRecord();
  if (!record) return Note("state", tl::make_unexpected(record.error()));
  Note("state", {});
  Node node{config_, store_, edges};
  std::map<int64_t, Deadline> gone;
  for (const Attachment& attachment : record->attachments) {
    const auto& steps = record->steps.at(attachment.id);
    const bool pending =
        attachment.phase == Phase::kDeleting &&
        (steps.empty() || std::ranges::any_of(steps, [](const Step& s) { return !s.pending.empty(); }));
    bool due = pending;
    // A DEL that has taken longer than the grace has died.
    if (!pending && (attachment.phase == Phase::kDeleting || NamespaceIsGone(attachment))) {
      const auto since = gone_since_.find(attachment.id);
      gone[attachment.id] = since == gone_since_.end() ? Clock::now() : since->second;
      due = Clock::now() - gone[attachment.id] >= gone_grace_;
    }
    if (!due) continue;
    Attachment deleting = attachment;
    deleting.phase = Phase::kDeleting;
    Status marked = store_.SetPhase(deleting.id, deleting.phase);
    if (!marked) {
      Note("state", marked);
      continue;
    }
    const auto undone = Undo(node, deleting, "");
    if (undone && undone->removed) {
      log::Info("attachment {} of pod {}/{}: {}, everything of it undone", attachment.key.ToString(),
                attachment.pod_namespace, attachment.pod_name,
                deleting.phase == attachment.phase ? "its DEL had left work" : "its namespace is gone");
      ++repairs_;
    }
  }
  gone_since_ = std::move(gone);
}

void Reconciler::Publish() {
  const auto record = ReadRecord();
  if (!record) return Note("state", tl::make_unexpected(record.error()));
  NodeView view;
  view.hostname = identity_.hostname;
  view.raild_version = identity_.raild_version;
  view.started_ms = identity_.started_ms;
  view.repairs = repairs_;
  for (const auto& [part, health] : health_) view.health.push_back(health);
  std::map<uint64_t, std::string> tenants;
  for (const Attachment& attachment : record->attachments) {
    AttachmentView shown;
    shown.attachment = attachment;
    const auto rail = rails_.find(attachment.rail);
    shown.rules_in_place = rail != rails_.end() && rail->second.rules_right &&
                           record->Has(attachment.id, step::kAdmit) &&
                           rail->second.ports.contains(attachment.representor);
    for (const Step& step : record->steps.at(attachment.id)) {
      if (!step.pending.empty()) shown.pending = step.kind + ": " + step.pending;
    }
    if (attachment.tenant_id != 0) tenants[attachment.tenant_id] = attachment.tenant;
    view.attachments.push_back(std::move(shown));
  }
  for (const config::Rail& rail : config_.rails) {
    const RailState& state = rails_[rail.name];
    RailView shown;
    shown.rail = rail;
    shown.bridge_present = state.bridge_present;
    shown.uplink_carrier = state.uplink_carrier;
    shown.bridge_mac = state.facts.bridge_mac;
    shown.leaf_mac = state.leaf_mac;
    shown.rules_wanted = state.rules_wanted;
    shown.rules_installed = state.rules_installed;
    if (const auto session = sessions_.find(rail.bridge); session != sessions_.end()) {
      shown.bgp_state = session->second.state;
      shown.prefixes_received = session->second.prefixes_received;
      shown.prefixes_sent = session->second.prefixes_sent;
    }
    view.rails.push_back(std::move(shown));
  }
  for (const auto& [address, remote] : remotes_) {
    const auto tenant = tenants.find(remote.tenant.value);
    view.remotes.push_back({remote, tenant == tenants.end() ? "" : tenant->second, tenant != tenants.end()});
  }
  board_.Publish(std::move(view));
}

}  // namespace rail::engine
