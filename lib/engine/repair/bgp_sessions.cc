#include "lib/engine/repair/bgp_sessions.h"

#include <algorithm>

#include "lib/base/log.h"
#include "lib/frr/session_down.h"

namespace rail::engine {
namespace {

// How often to ask bgpd for what it does not push (its End-of-RIB, counters, a session
// that is being cleared), while it is awaited.
constexpr std::chrono::milliseconds kAskInterval{250};
// A leaf's port may need some seconds (autonegotiation, duplicate address detection) before it hears anything.
constexpr std::chrono::seconds kSolicitFor{30};

}  // namespace

std::map<std::string, frr::Session> BgpSessions::ByBridge() const {
  std::map<std::string, frr::Session> by_bridge;
  for (const BgpInstance& instance : instances_.all()) {
    for (const frr::RailPeer& peer : instance.peers) {
      const config::Rail* rail = config_.FindRail(peer.rail);
      const auto session = all_.find(peer.interface);
      if (rail == nullptr || session == all_.end()) continue;
      const auto [known, first] = by_bridge.emplace(rail->bridge, session->second);
      if (!first && !known->second.established()) known->second = session->second;
    }
  }
  return by_bridge;
}

Status BgpSessions::PrefixHealth() const {
  const uint32_t most = config_.bgp.max_prefixes;
  for (const auto& [interface, session] : all_) {
    const BgpInstance* instance = instances_.InstanceOf(interface);
    if (instance == nullptr || session.most_prefixes <= most) continue;
    const auto peer = std::ranges::find(instance->peers, interface, &frr::RailPeer::interface);
    const std::string in_vrf =
        instance->vrf.empty() ? "" : " in VLAN " + std::to_string(instance->tenant.vlan);
    return Fail(Code::kInvalid,
                "the leaf of rail " + peer->rail + " sends" + in_vrf + " " +
                    std::to_string(session.most_prefixes) + " prefixes of one family, and " +
                    "bgp.max_prefixes expects " + std::to_string(most) +
                    " at most: all of them are learned; see what the leaf passes on, or raise the bound");
  }
  return {};
}

Status BgpSessions::Read(Connections& connections) {
  const auto asked = [&]() -> Result<std::vector<frr::Session>> {
    RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
    return bgp->Sessions(connections.CallDeadline());
  }();
  // A session that bgpd does not list is gone. If bgpd does not answer, all are gone.
  const size_t gone = std::erase_if(all_, [&](const auto& known) {
    if (asked && std::ranges::find(*asked, known.first, &frr::Session::interface) != asked->end())
      return false;
    log::Info("bgp session on {}: {}", known.first, asked ? "removed" : "not known, bgpd does not answer");
    if (asked) feeds_.SessionLost(instances_.VrfOf(known.first));
    return true;
  });
  changed_ = changed_ || gone > 0;
  RAIL_ASSIGN(const std::vector<frr::Session> sessions, asked);
  for (frr::Session session : sessions) {
    frr::Session& before = all_[session.interface];
    frr::Remember(session, before);
    changed_ = changed_ || before.state != session.state ||
               before.prefixes_received != session.prefixes_received ||
               before.prefixes_sent != session.prefixes_sent || before.peer != session.peer ||
               before.leaf != session.leaf || before.shut_down != session.shut_down ||
               before.notification != session.notification;
    if (before.state != session.state) log::Info("bgp session on {}: {}", session.interface, session.state);
    // A session that went down and came back between two looks is younger than it was.
    if (before.established() && (before.state != session.state || session.uptime_ms < before.uptime_ms))
      feeds_.SessionLost(instances_.VrfOf(session.interface));
    before = session;
  }
  remotes_.SetLeaves(all_);
  remotes_.SetEndOfRibDue(all_, deps_.now());
  feeds_.CheckAlike(all_);
  const bool all = HasAllNeighbours();
  audit_due_ = audit_due_ || (all_neighbours_ && !all);
  all_neighbours_ = all;
  return {};
}

// A neighbour for every rail and link of the front end.
bool BgpSessions::HasAllNeighbours() const {
  const auto has = [&](const std::string& interface) { return all_.contains(interface); };
  return std::ranges::all_of(instances_.all(),
                             [&](const BgpInstance& instance) {
                               return std::ranges::all_of(instance.peers, has, &frr::RailPeer::interface);
                             }) &&
         std::ranges::all_of(config_.frontend.links, has);
}

Status BgpSessions::Ask(Connections& connections) {
  asked_ = deps_.now();
  answers_ = connections.Bgp().has_value();
  if (!answers_) {
    audit_due_ = true;
    all_neighbours_ = false;
  }
  Status asked = Read(connections);
  if (asked) asked = feeds_.LookForStall(connections, all_);
  if (asked) {
    backoff_.Right();
  } else {
    backoff_.Failed();
  }
  outdated_ = !asked;
  return asked;
}

std::optional<Deadline> BgpSessions::next() const {
  if (backoff_.next() || !IsDue()) return backoff_.next();
  return asked_ + kAskInterval;
}

void BgpSessions::ConnectionsGone(const std::vector<netlink::TcpEnd>& ends) {
  outdated_ = true;
  for (const netlink::TcpEnd& end : ends) {
    const auto session = all_.find(end.interface);
    // The leaf's own attempts say nothing of how it takes this node's.
    if (end.remote_port != frr::kPort || session == all_.end() || session->second.established()) continue;
    const frr::Attempt attempt = frr::AttemptOf(end.segments_received, end.bytes_received);
    changed_ = changed_ || session->second.attempt != attempt;
    frr::NoteAttempt(session->second, attempt);
  }
}

Status BgpSessions::CarrierBack(Connections& connections, const std::vector<std::string>& rails,
                                Deadline seen) {
  RAIL_TRY(Read(connections));
  RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
  for (const BgpInstance& instance : instances_.all()) {
    for (const frr::RailPeer& peer : instance.peers) {
      if (std::ranges::find(rails, peer.rail) == rails.end()) continue;
      solicit_[peer.interface] = deps_.now() + kSolicitFor;
      const auto session = all_.find(peer.interface);
      if (session == all_.end() || !session->second.established()) continue;
      // A session that has come up since is the new one.
      if (std::chrono::milliseconds(session->second.uptime_ms) <= deps_.now() - seen) continue;
      RAIL_TRY(bgp->Instance(instance.vrf).ResetSession(peer.interface, connections.CallDeadline()));
      log::Info("bgp session on {}: ended, rail {} was without a carrier", peer.interface, peer.rail);
    }
  }
  return Read(connections);
}

bool BgpSessions::Solicit() {
  std::erase_if(solicit_, [&](const auto& waiting) {
    const auto session = all_.find(waiting.first);
    return deps_.now() >= waiting.second || (session != all_.end() && session->second.established());
  });
  for (const auto& [interface, until] : solicit_) {
    const Status asked = deps_.solicit_routers(interface);
    if (!asked)
      log::Warning("{}; its session comes with the next router advertisement", asked.error().message);
  }
  outdated_ = outdated_ || !solicit_.empty();
  return !solicit_.empty();
}

}  // namespace rail::engine
