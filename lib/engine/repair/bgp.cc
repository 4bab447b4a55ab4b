#include "lib/engine/repair/bgp.h"

#include <algorithm>
#include <set>
#include <utility>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/frr/session_down.h"

namespace rail::engine {
namespace {

using state::Attachment;
using state::Phase;

// How often to ask bgpd for what it does not push (its End-of-RIB, counters, a session
// that is being cleared), while it is awaited.
constexpr std::chrono::milliseconds kAskInterval{250};
// A route of the front end is in the kernel some 100 ms after its session has come up.
constexpr std::chrono::seconds kFrontendInterval{1};
// So many addresses of a repair are named in the log.
constexpr size_t kMostSaid = 8;
// A leaf's port may need some seconds (autonegotiation, duplicate address detection) before it hears anything.
constexpr std::chrono::seconds kSolicitFor{30};
// An announcement that no record explains may be of a pod that the record has lost: the switch's repair sees that by its port, within an
// audit.
constexpr std::chrono::seconds kOrphanGrace{60};

}  // namespace

BgpRepair::BgpRepair(const config::NodeConfig& config, const Deps& deps, state::Store& store,
                     NodeStatus& node_status)
    : config_(config),
      deps_(deps),
      record_(store),
      node_status_(node_status),
      started_(deps_.now()),
      instances_(InstancesOf(config, Record())),
      remotes_(config, started_),
      own_(config),
      frontend_(config_, deps_),
      leaves_(config, deps_.leaves_file.empty() ? LeafOfRail() : ReadLeaves(deps_.leaves_file)) {}

// The order keeps routes at the leaf through a restart of bgpd: first the instance, then the addresses, and only then the
// sessions. A session ends the leaf's graceful restart, and by then everything is announced. An instance that fails on the way gets no
// session; only the default one, which has the maps and lists of all, keeps the others back.
// Only with the namespaces' list does a node know which cluster it is of; in mode `vrf` the plugins make the route-maps, too.
std::optional<tenancy::ClusterMark> BgpRepair::Mark() const {
  if (!config_.kubernetes.tenants || config_.tenancy.mode != config::TenancyMode::kNamespace)
    return std::nullopt;
  return tenancy::MarkOf(deps_.tenants());
}

bool BgpRepair::Audit() {
  audit_due_ = false;
  mended_ = false;
  remotes_.SetMark(Mark(), deps_.now());
  Connections connections(deps_.openers(config_), After(kRoundLimit));
  Status whole;
  const auto note = [&](Part part, const Status& status) {
    node_status_.Note(part, status);
    if (whole && !status) whole = status;
  };
  Failed failed;
  const auto before = [&] { return failed.contains("") ? failed.at("") : Status(); };
  // Without the record nothing is known of tenants, and what is there stays.
  const Status read = ReadInstances();
  const auto bgpd = connections.Bgp();
  if (bgpd) (*bgpd)->ReadOnce(true);
  if (config_.bgp.manage) note(Part::kBgpInstance, BgpBase(connections, Peers::kNone, failed));
  if (config_.bgp.manage && before()) FrontendBase(connections, note);
  if (before()) note(Part::kBgpAnnouncements, Announcements(connections, failed));
  // A session that comes up without the announcements makes the leaf forget them. One address that bgpd refuses for good
  // must not keep all others from the leaf, though.
  if (config_.bgp.manage && (before() || before().error().code != Code::kTransient)) {
    note(Part::kBgpSessions, BgpBase(connections, Peers::kAll, failed));
  }
  if (config_.bgp.manage && before() && read) note(Part::kUnusedInstances, RemoveUnused(connections));
  const Status fed = EnsureFeeds(connections);
  // Only a new bgpd helps against a missing module, so there is no reason to try again sooner.
  if (whole && !fed && fed.error().code == Code::kTransient) whole = fed;
  node_status_.Note(Part::kBgpFeed, FeedHealth());
  if (whole) {
    backoff_.Right();
  } else {
    backoff_.Failed();
  }
  if (bgpd) (*bgpd)->ReadOnce(false);
  const bool news = AskAndTell(connections);
  node_status_.Changed();
  return news;
}

bool BgpRepair::Poll() {
  const bool something_to_ask = sessions_outdated_ || remotes_.AwaitsEndOfRib() || MayBeStalled() ||
                                FrontendMayChange() ||
                                (frontend_.next_mend() && *frontend_.next_mend() <= deps_.now());
  const bool too_soon = ask_backoff_.next() && !ask_backoff_.Due();
  if (!answers_ || !something_to_ask || too_soon) {
    remotes_.Settle(deps_.now());
    return Tell();
  }
  Connections connections(deps_.openers(config_), After(kRoundLimit));
  if (!AskAndTell(connections)) return false;
  node_status_.Changed();
  return true;
}

std::optional<Deadline> BgpRepair::next_poll() const {
  const Deadline now = deps_.now();
  std::optional<Deadline> next = remotes_.next_settle();
  const auto at = [&](Deadline when) { next = Earlier(next, when); };
  const auto expires = [&](Deadline when) {
    if (now < when) at(when);
  };
  for (const auto& [vrf, feed] : feeds_) {
    if (!feed.open && feed.due) expires(*feed.due);
  }
  if (contested_since_) expires(*contested_since_ + kContestedGrace);
  if (own_.next()) expires(*own_.next());
  if (!answers_) return next;
  for (const auto& [vrf, feed] : feeds_) {
    if (feed.open && remotes_.in_doubt(vrf)) at(feed.opened + kInDoubt);
    if (feed.open && (remotes_.has_no_feed(vrf) || remotes_.missed(vrf))) at(now);
  }
  if (ask_backoff_.next()) {
    at(*ask_backoff_.next());
  } else if (sessions_outdated_ || remotes_.AwaitsEndOfRib() || MayBeStalled()) {
    at(asked_ + kAskInterval);
  } else {
    for (const auto& [vrf, feed] : feeds_) {
      if (feed.open && feed.stall.next()) at(*feed.stall.next());
    }
  }
  if (!ask_backoff_.next() && FrontendMayChange()) at(asked_ + kFrontendInterval);
  if (!ask_backoff_.next() && frontend_.next_mend())
    at(std::max(*frontend_.next_mend(), asked_ + kFrontendInterval));
  return next;
}

bool BgpRepair::CarrierBack(const std::vector<std::string>& rails, Deadline seen) {
  Connections connections(deps_.openers(config_), After(kRoundLimit));
  bool changed = false;
  const auto end = [&]() -> Status {
    RAIL_TRY(Sessions(connections, changed));
    RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
    for (const BgpInstance& instance : instances_) {
      for (const frr::RailPeer& peer : instance.peers) {
        if (std::ranges::find(rails, peer.rail) == rails.end()) continue;
        solicit_[peer.interface] = deps_.now() + kSolicitFor;
        const auto session = sessions_.find(peer.interface);
        if (session == sessions_.end() || !session->second.established()) continue;
        // A session that has come up since is the new one.
        if (std::chrono::milliseconds(session->second.uptime_ms) <= deps_.now() - seen) continue;
        RAIL_TRY(bgp->Instance(instance.vrf).ResetSession(peer.interface, connections.CallDeadline()));
        log::Info("bgp session on {}: ended, rail {} was without a carrier", peer.interface, peer.rail);
      }
    }
    return Sessions(connections, changed);
  };
  const Status ended = end();
  if (!ended) log::Warning("sessions of rails whose carrier is back: {}", ended.error().message);
  if (!TellIf(changed)) return false;
  node_status_.Changed();
  return true;
}

bool BgpRepair::Solicit() {
  std::erase_if(solicit_, [&](const auto& waiting) {
    const auto session = sessions_.find(waiting.first);
    return deps_.now() >= waiting.second || (session != sessions_.end() && session->second.established());
  });
  for (const auto& [interface, until] : solicit_) {
    const Status asked = deps_.solicit_routers(interface);
    if (!asked)
      log::Warning("{}; its session comes with the next router advertisement", asked.error().message);
  }
  sessions_outdated_ = sessions_outdated_ || !solicit_.empty();
  return !solicit_.empty();
}

// Of the front end's sessions it is the default one, as of the rails' where tenants have no VRFs.
std::string BgpRepair::VrfOf(const std::string& interface) const {
  const BgpInstance* instance = InstanceOf(interface);
  return instance == nullptr ? "" : instance->vrf;
}

const BgpInstance* BgpRepair::InstanceOf(const std::string& interface) const {
  for (const BgpInstance& instance : instances_) {
    if (std::ranges::find(instance.peers, interface, &frr::RailPeer::interface) != instance.peers.end())
      return &instance;
  }
  return nullptr;
}

bool BgpRepair::Tell() {
  if (!TellIf(false)) return false;
  sessions_outdated_ = true;  // their counters have changed
  node_status_.Changed();
  return true;
}

bool BgpRepair::AskAndTell(Connections& connections) {
  bool changed = false;
  asked_ = deps_.now();
  const Status asked = Ask(connections, changed);
  node_status_.Note(Part::kBgp, asked);
  if (asked) {
    ask_backoff_.Right();
  } else {
    ask_backoff_.Failed();
    sessions_outdated_ = true;
  }
  LookAtFrontend(connections, changed);
  // Settles after asking, because a leaf may owe its End-of-RIB.
  remotes_.Settle(deps_.now());
  return TellIf(changed);
}

bool BgpRepair::TellIf(bool changed) {
  own_.Read(record_, remotes_);
  const bool news = remotes_.TakeNews();
  const RemoteTable& table = remotes_.table();
  changed = own_.Look(table, deps_.now()) || std::exchange(untold_, false) || changed;
  if (!table.example) {
    contested_since_.reset();
  } else if (!contested_since_) {
    contested_since_ = deps_.now();
  }
  const std::string other = remotes_.other_cluster();
  node_status_.Note(Part::kCluster, other.empty() ? Status() : Fail(Code::kInvalid, other));
  std::string problem = remotes_.problem();
  if (contested_since_ && deps_.now() - *contested_since_ >= kContestedGrace) {
    const std::set<tenancy::TenantId>& tenants = table.example->tenants;
    Append(problem, "; ",
           table.example->address.ToString() + " is announced for " + std::to_string(tenants.size()) +
               " tenants (" + tenants.begin()->ToString() + ", " + tenants.rbegin()->ToString() +
               ") and reaches nobody");
    if (table.contested > 1) problem += ", as are " + std::to_string(table.contested - 1) + " more";
  }
  node_status_.Note(Part::kPodAddresses, own_.health());
  node_status_.Note(Part::kBgpPrefixes, PrefixHealth());
  node_status_.Note(Part::kBgpRemotes, problem.empty() ? Status() : Fail(Code::kInvalid, problem));
  // A problem that is reported with a delay is news when it is reported.
  problem += other;
  changed = changed || problem != told_problem_;
  told_problem_ = std::move(problem);
  const bool bmp_up = FeedIsUp();
  if (bmp_up != told_bmp_up_) node_status_.Note(Part::kBgpFeed, FeedHealth());
  changed = changed || bmp_up != told_bmp_up_ || alike_ != told_ambiguous_;
  told_bmp_up_ = bmp_up;
  told_ambiguous_ = alike_;
  if (!news && !changed) return false;
  if (remotes_.complete() && !told_complete_) {
    told_complete_ = true;
    log::Info("{} remotes of {} tenants learned, {} ms after the start", table.known, table.by_tenant.size(),
              std::chrono::duration_cast<std::chrono::milliseconds>(deps_.now() - started_).count());
  }
  LookAtLeaves();
  std::map<std::string, KnownLeaf> leaves;
  for (const config::Rail& rail : config_.rails) {
    if (const auto leaf = leaves_.of(rail.name)) leaves[rail.name] = *leaf;
  }
  node_status_.SetLearned(
      std::make_shared<const engine::Learned>(engine::Learned{.remotes = table,
                                                              .sessions = sessions_,
                                                              .complete = remotes_.complete(),
                                                              .bmp_up = bmp_up,
                                                              .bmp_ambiguous = alike_,
                                                              .elsewhere = own_.lasting(),
                                                              .leaves = std::move(leaves),
                                                              .unit = leaves_.unit()}));
  return true;
}

// Of all instances: an announcement in one that has no pod any more may be left of a pod.
Status BgpRepair::Announcements(Connections& connections, Failed& failed) {
  frr::Bgp* bgp = nullptr;
  const auto read = [&]() -> Result<std::vector<std::string>> {
    RAIL_ASSIGN(bgp, connections.Bgp());
    return bgp->OurInstances(connections.CallDeadline());
  }();
  if (!read) return failed[""] = tl::make_unexpected(read.error());
  std::set<std::string> vrfs(read->begin(), read->end());
  for (const BgpInstance& instance : instances_) vrfs.insert(instance.vrf);
  std::map<std::pair<std::string, IpAddress>, Deadline> still;
  Status whole;
  for (const std::string& vrf : vrfs) {
    if (failed.contains(vrf)) continue;
    const Status done = AnnouncementsIn(connections, bgp->Instance(vrf), vrf, still);
    if (whole && !done) whole = done;
    if (!done && done.error().code == Code::kTransient) failed[vrf] = done;
  }
  // What could not be looked at is as old as it was.
  for (const auto& [at, since] : orphans_) {
    if (failed.contains(at.first)) still.emplace(at, since);
  }
  orphans_ = std::move(still);
  return whole;
}

// Reads bgpd first and the record second, as everywhere.
Status BgpRepair::AnnouncementsIn(Connections& connections, frr::Bgp& bgp, const std::string& vrf,
                                  std::map<std::pair<std::string, IpAddress>, Deadline>& still) {
  RAIL_ASSIGN(const std::vector<frr::Announcement> seen, bgp.Announced(connections.CallDeadline()));
  RAIL_ASSIGN(const RecordPtr record, record_.Read());
  std::map<IpAddress, frr::Announcement> wanted;
  std::set<IpAddress> explained;  // by an ADD or DEL that may be under way
  std::set<IpAddress> lost;       // of pods without their device
  for (const Attachment& attachment : record->attachments) {
    const config::Rail* rail = config_.FindRail(attachment.rail);
    if (rail == nullptr || !record->Has(attachment.id, step::kAnnounce)) continue;
    const auto announcer = AnnouncerOf(config_, *rail, attachment.tenant);
    if (!announcer || announcer->vrf != vrf) continue;
    if (announcer->vlan != VlanOf(config_.tenancy.vlans, attachment, record->steps.at(attachment.id)))
      continue;
    explained.insert(attachment.addresses.begin(), attachment.addresses.end());
    if (!attachment.announced || attachment.phase == Phase::kDeleting) continue;
    if (node_status_.HasLostDevice(attachment.id)) {
      lost.insert(attachment.addresses.begin(), attachment.addresses.end());
      continue;
    }
    // Nobody reaches a pod behind an uplink without a carrier, so nothing is announced until the carrier is back.
    if (node_status_.UplinkIsDown(rail->name)) continue;
    for (const frr::Announcement& each : AnnouncementsOf(attachment, *rail)) wanted[each.address] = each;
  }
  Announced& stands = announced_[vrf];
  const Announced stood = std::exchange(stands, {});
  for (const frr::Announcement& announcement : seen) {
    const auto it = wanted.find(announcement.address);
    if (!explained.contains(announcement.address)) {
      const std::pair at(vrf, announcement.address);
      const Deadline since = orphans_.emplace(at, deps_.now()).first->second;
      still.emplace(at, since);
      if (node_status_.HasUnrecorded() || deps_.now() - since < kOrphanGrace) continue;
      RAIL_TRY(bgp.Withdraw(announcement.address, connections.CallDeadline()));
      log::Info("bgpd: {} belonged to no attachment any more, withdrawn",
                announcement.address.ToHostPrefix());
      node_status_.Repaired("orphan announcement");
    } else if (lost.contains(announcement.address)) {
      RAIL_TRY(bgp.Withdraw(announcement.address, connections.CallDeadline()));
      log::Warning("bgpd: {} withdrawn until its pod has its device again",
                   announcement.address.ToHostPrefix());
    } else if (node_status_.UplinkIsDown(announcement.rail)) {
      RAIL_TRY(bgp.Withdraw(announcement.address, connections.CallDeadline()));
      log::Info("bgpd: {} withdrawn until rail {} has a carrier again", announcement.address.ToHostPrefix(),
                announcement.rail);
    } else if (it != wanted.end() && it->second == announcement) {
      stands.insert(*it);
      wanted.erase(it);
    }
  }
  if (wanted.empty()) return {};
  std::vector<frr::Announcement> missing;
  for (const auto& [address, announcement] : wanted) missing.push_back(announcement);
  return Announce(bgp, connections, missing, stood, stands);
}

// Announces all at once. If bgpd refuses one of them for good, announces each on its own, so that one keeps no other from the
// leaf. Returns the first refusal.
Status BgpRepair::Announce(frr::Bgp& bgp, Connections& connections,
                           const std::vector<frr::Announcement>& missing, const Announced& stood,
                           Announced& stands) {
  size_t announced = 0, lost = 0;
  std::string first;
  const auto announce = [&](const std::vector<frr::Announcement>& some) -> Status {
    RAIL_TRY(bgp.AnnounceAll(some, connections.CallDeadline()));
    for (const frr::Announcement& each : some) {
      const auto was = stood.find(each.address);
      lost += was != stood.end() && was->second == each ? 1 : 0;
      stands[each.address] = each;
      if (announced++ < kMostSaid) Append(first, ", ", each.address.ToHostPrefix());
    }
    return {};
  };
  const auto is_transient = [](const Status& status) {
    return !status && status.error().code == Code::kTransient;
  };
  Status status = announce(missing);
  if (!status && !is_transient(status) && missing.size() > 1) {
    status = {};
    for (const frr::Announcement& announcement : missing) {
      const Status one = announce({announcement});
      if (status || is_transient(one)) status = one;
      if (is_transient(one)) break;
    }
  }
  if (announced == 0) return status;
  const char* more = announced > kMostSaid ? ", ..." : "";
  if (lost == 0) {
    log::Info("bgpd: {} addresses announced: {}{}", announced, first, more);
  } else {
    log::Warning("bgpd: {} addresses were not announced as recorded, announced again: {}{}", announced, first,
                 more);
  }
  node_status_.Repaired("announcement", lost);
  mended_ = true;
  return status;
}

Status BgpRepair::Ask(Connections& connections, bool& changed) {
  auto bgp = connections.Bgp();
  answers_ = bgp.has_value();
  if (!bgp) {
    audit_due_ = true;
    all_neighbours_ = false;
  }
  RAIL_TRY(Sessions(connections, changed));
  sessions_outdated_ = false;
  return LookForStall(connections);
}

Status BgpRepair::Sessions(Connections& connections, bool& changed) {
  const auto asked = [&]() -> Result<std::vector<frr::Session>> {
    RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
    return bgp->Sessions(connections.CallDeadline());
  }();
  // A session that bgpd does not list is gone. If bgpd does not answer, all are gone.
  const size_t gone = std::erase_if(sessions_, [&](const auto& known) {
    if (asked && std::ranges::find(*asked, known.first, &frr::Session::interface) != asked->end())
      return false;
    log::Info("bgp session on {}: {}", known.first, asked ? "removed" : "not known, bgpd does not answer");
    if (asked) SessionLost(known.first);
    return true;
  });
  changed = changed || gone > 0;
  RAIL_ASSIGN(const std::vector<frr::Session> sessions, asked);
  for (frr::Session session : sessions) {
    frr::Session& before = sessions_[session.interface];
    frr::Remember(session, before);
    changed = changed || before.state != session.state ||
              before.prefixes_received != session.prefixes_received ||
              before.prefixes_sent != session.prefixes_sent || before.peer != session.peer ||
              before.leaf != session.leaf || before.shut_down != session.shut_down ||
              before.notification != session.notification;
    if (before.state != session.state) log::Info("bgp session on {}: {}", session.interface, session.state);
    // A session that went down and came back between two looks is younger than it was.
    if (before.established() && (before.state != session.state || session.uptime_ms < before.uptime_ms))
      SessionLost(session.interface);
    before = session;
  }
  remotes_.SetLeaves(sessions_);
  remotes_.SetEndOfRibDue(sessions_, deps_.now());
  const auto has = [&](const std::string& interface) { return sessions_.contains(interface); };
  const bool all =
      std::ranges::all_of(instances_,
                          [&](const BgpInstance& instance) {
                            return std::ranges::all_of(instance.peers, has, &frr::RailPeer::interface);
                          }) &&
      std::ranges::all_of(config_.frontend.links, has);
  audit_due_ = audit_due_ || (all_neighbours_ && !all);
  all_neighbours_ = all;
  if (remotes_.ambiguous()) CheckAmbiguity(sessions);
  return {};
}

void BgpRepair::CheckAmbiguity(const std::vector<frr::Session>& sessions) {
  // The leaf has one address in all its VRFs, and each VRF has a connection of its own.
  const auto alike = [&](const frr::Session& a, const frr::Session& b) {
    const bool may_be_one =
        !a.leaf || !b.leaf ||
        std::pair(a.leaf->asn, a.leaf->router_id) == std::pair(b.leaf->asn, b.leaf->router_id);
    return a.interface < b.interface && a.peer && a.peer == b.peer && may_be_one &&
           VrfOf(a.interface) == VrfOf(b.interface);
  };
  const bool twice = std::ranges::any_of(sessions, [&](const frr::Session& a) {
    return std::ranges::any_of(sessions, [&](const frr::Session& b) { return alike(a, b); });
  });
  if (!twice) return remotes_.NotAmbiguous();
  alike_ = true;
}

void BgpRepair::ConnectionsGone(const std::vector<netlink::TcpEnd>& ends) {
  sessions_outdated_ = true;
  for (const netlink::TcpEnd& end : ends) {
    const auto session = sessions_.find(end.interface);
    // The leaf's own attempts say nothing of how it takes this node's.
    if (end.remote_port != frr::kPort || session == sessions_.end() || session->second.established())
      continue;
    const frr::Attempt attempt = frr::AttemptOf(end.segments_received, end.bytes_received);
    untold_ = untold_ || session->second.attempt != attempt;
    frr::NoteAttempt(session->second, attempt);
  }
}

}  // namespace rail::engine
