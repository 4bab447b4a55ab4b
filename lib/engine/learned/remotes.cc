#include "lib/engine/learned/remotes.h"

#include <algorithm>

#include "lib/base/text.h"

namespace rail::engine {
namespace {

// The beginning of one session, as two connections tell it, differs by less.
constexpr std::chrono::seconds kSameStart{1};

// The one tenant, the rail and its plane that `communities` name; nullopt: they name no tenant, or tenants that contradict each other.
struct Ours {
  tenancy::TenantId tenant;
  std::optional<tenancy::ClusterMark> mark;
  std::optional<uint32_t> rail;
  std::optional<tenancy::Plane> plane;
};
std::optional<Ours> OursIn(const std::vector<tenancy::LargeCommunity>& communities, uint32_t asn) {
  const auto tenant = tenancy::TenantIn(asn, communities);
  if (!tenant) return std::nullopt;
  Ours ours{*tenant, std::nullopt, std::nullopt, std::nullopt};
  for (const tenancy::LargeCommunity& community : communities) {
    if (!ours.rail) ours.rail = tenancy::RailOfCommunity(asn, community);
    if (!ours.plane) ours.plane = tenancy::PlaneOfCommunity(asn, community);
    if (!ours.mark) ours.mark = tenancy::ClusterOfCommunity(asn, community);
  }
  return ours.rail ? std::optional(ours) : std::nullopt;
}

}  // namespace

Remotes::Remotes(const config::NodeConfig& config, Deadline now, Scope scope)
    : config_(config),
      scope_([&] {
        if (!scope.as_paths) scope.as_paths = std::make_shared<AsPathsKeeper>();
        return std::move(scope);
      }()),
      peers_(by_rail() ? config.rails.size() : 1, now),
      leaves_(config, scope_.vlan),
      complete_by_(scope_.begins_complete ? std::nullopt : std::optional(now + kStale)) {}

void Remotes::SetRails(const std::set<Feed>& rails, Deadline now) {
  for (Feed feed = 0; feed < peers_.feeds().size(); ++feed) {
    bool& used = peers_.feeds()[feed].used;
    const bool was_used = std::exchange(used, rails.contains(feed));
    if (!was_used || used) continue;
    FeedClosed(now, feed);
    leaves_.Forget(feed);
    std::set<PeerIndex> gone;
    for (PeerIndex i = 0; i < peers_.size(); ++i) {
      if (peers_[i].feed == feed) gone.insert(i);
    }
    DropStale([&](const Path& path) { return gone.contains(path.peer); });
  }
}

void Remotes::FeedOpened(Deadline now, bool settling, Feed feed) {
  FeedClosed(now, feed);
  FeedState& state = peers_.feeds()[feed];
  // What was learned does not age while bgpd pushes nothing: nobody could say what is left of it.
  const Clock::duration missed = now - *state.closed;
  if (!peers_.AnyOpen() && complete_by_) *complete_by_ += missed;
  bool holds = false;
  for (PeerState& peer : peers_) {
    if (peer.feed != feed) continue;
    if (peer.stale_until) *peer.stale_until += missed;
    if (peer.held_until) *peer.held_until += missed;
    holds = holds || peer.held_until;
    peer.told = peer.twice = peer.in_doubt = false;
  }
  for (auto& [address, paths] : paths_) {
    if (!holds) break;
    for (Path& path : paths) {
      if (path.held() && peers_[path.peer].feed == feed) path.held_until += missed;
    }
  }
  state.closed.reset();
  state.settling = settling;
  state.missed = false;
  state.unknown.clear();
  complaints_.erase(Complaint::kMalformed);
  complaints_.erase(Complaint::kPostPolicy);
  leaves_.FeedOpened();
}

void Remotes::SetLeaves(const std::map<std::string, frr::Session>& sessions) {
  const BelievedLeaves::News news = leaves_.Set(sessions);
  for (const size_t rail : news.rails) {
    FeedState& feed = peers_.feeds()[by_rail() ? rail : 0];
    feed.missed = feed.missed || feed.unknown.contains(*leaves_.of(rail));
  }
  if (news.believed_again) peers_.feeds()[0].missed = true;
  news_ = news_ || news.alike;
}

void Remotes::TakeFromUnknownPeer(const bmp::Message& message, Feed feed) {
  if (message.kind == bmp::Message::Kind::kPeerUp) peers_.NoteNews();
  std::set<bmp::Peer>& unknown = peers_.feeds()[feed].unknown;
  if (message.peer.address.is_link_local() && unknown.size() < kMaxPeers) unknown.insert(message.peer);
  leaves_.TakeFromOther(message, OursIn(message.update.communities, config_.bgp.community_asn).has_value());
}

void Remotes::FeedClosed(Deadline now, Feed feed) {
  if (!peers_.IsOpen(feed)) return;
  peers_.feeds()[feed].closed = now;
  for (PeerIndex i = 0; i < peers_.size(); ++i) {
    if (peers_[i].feed != feed) continue;
    peers_[i].up = peers_[i].settled = false;
    MarkStale(i, now);
  }
}

void Remotes::Take(const bmp::Message& message, Deadline now, int64_t unix_ms, Feed feed) {
  using Kind = bmp::Message::Kind;
  const bool by_leaf = message.kind == Kind::kPeerUp || message.kind == Kind::kRoutes;
  if (by_leaf && !IsLeaf(message.peer, feed)) return TakeFromUnknownPeer(message, feed);
  switch (message.kind) {
    case Kind::kPeerUp: return PeerUp(message, now, unix_ms, feed);
    case Kind::kPeerDown: return PeerDown(message, now, feed);
    case Kind::kRoutes: return Routes(message, now, feed);
    case Kind::kMalformed:
      return Complain(Complaint::kMalformed, "bgpd pushes what cannot be read: " + message.reason);
    case Kind::kPostPolicy:
      return Complain(
          Complaint::kPostPolicy,
          "bgpd pushes its routes as they are after the import policy, and forgets some of them then: "
          "let it say \"bmp monitor ipv4 unicast pre-policy\", and the same for ipv6");
    case Kind::kStarted:
    case Kind::kEnded:
    case Kind::kOther: return;
  }
}

void Remotes::PeerUp(const bmp::Message& message, Deadline now, int64_t unix_ms, Feed feed) {
  const auto index = FindOrAdd(message.peer, feed);
  if (!index) return;
  PeerState& peer = peers_[*index];
  if (peer.up && (peer.local_port != message.local_port || peer.remote_port != message.remote_port)) {
    peer.twice = news_ = true;
  }
  // At a connection's beginning bgpd pushes all sessions before the first route.
  if (peer.twice && peer.told) peer.in_doubt = true;
  peers_.NoteNews();
  // The session may be much older than the connection over which bgpd reports it. If the
  // clock was set in between, it may look young.
  const int64_t age = message.since_ms > 0 ? unix_ms - message.since_ms : 0;
  const bool began_since = now - std::chrono::milliseconds(age) > peer.heard_up + kSameStart;
  const bool anew = std::exchange(peer.lost, false) || began_since;
  peer.settling = peers_.feeds()[feed].settling || age < std::chrono::milliseconds(kSettled).count();
  peer.up = true;
  peer.settled = peer.end_of_rib_due = false;
  peer.heard_up = peer.window = now;
  peer.in_window = peer.in_window_before = 0;
  peer.local_port = message.local_port;
  peer.remote_port = message.remote_port;
  peer.dump_awaited = {message.families.begin(), message.families.end()};
  MarkStale(*index, now);
  if (anew) Hold(*index);
}

void Remotes::NotAmbiguous() {
  for (PeerState& peer : peers_) peer.twice = peer.in_doubt = false;
}

void Remotes::PeerDown(const bmp::Message& message, Deadline now, Feed feed) {
  leaves_.Down(message.peer);
  const auto known = peers_.Find(message.peer, feed);
  if (leaves_.LooksLikeAnother(message.peer)) peers_.NoteNews();
  // A new connection begins with the sessions that are down, too.
  if (!known || !peers_[*known].up) return;
  peers_.NoteNews();
  PeerState& peer = peers_[*known];
  peer.up = peer.settled = false;
  peer.lost = true;
  MarkStale(*known, now);
}

void Remotes::Routes(const bmp::Message& message, Deadline now, Feed feed) {
  const auto index = FindOrAdd(message.peer, feed);
  if (!index) return;
  const bmp::Update& update = message.update;
  PeerState& peer = peers_[*index];
  peer.told = true;
  if (now - peer.window >= kWindow) {
    peer.in_window_before = now - peer.window < 2 * kWindow ? peer.in_window : 0;
    peer.window = now;
    peer.in_window = 0;
  }
  peer.in_window += update.announced.size() + update.withdrawn.size();
  for (const IpAddress& address : update.withdrawn) RemovePath(address, *index, Said::kWithdrawn, now);
  auto ours = OursIn(update.communities, config_.bgp.community_asn);
  if (ours) ours->tenant = names_.Known(ours->tenant);
  const bool foreign = ours && names_.IsForeign(ours->mark);
  // In a tenant's VRF only what is the tenant's: the leaf's table may have been joined with another's.
  const bool anothers = ours && by_rail() && ours->tenant != scope_.tenant;
  // bgpd 8.4 puts its own AS in front of the path that it has received, as it does with a path that it sends on.
  // It drops a route with its AS in the rest (RFC 4271 section 9.1.2), but pushes it before, and a leaf sends a node its own
  // routes, too.
  const std::vector<uint32_t>& path = update.as_path;
  const bool looped =
      path.size() > 1 && std::find(path.begin() + 1, path.end(), config_.bgp.asn) != path.end();
  const uint32_t as_path = update.announced.empty() ? 0 : KeepAsPath(path);
  for (const IpAddress& address : update.withdrawn) {
    peer.refused.erase(address);
    peer.others.erase(address);
    peer.foreign.erase(address);
    RemoveBare(*index, address);
  }
  for (const IpAddress& address : update.announced) {
    const bool a_pods = ours && !anothers && !foreign && !looped && address.is_routed_unicast();
    const bool refused = a_pods && !leaves_.MayAnnounce(peer.peer, peer.feed, address);
    if (!anothers) {
      peer.others.erase(address);
    } else if (peer.others.size() < kMaxRefused) {
      peer.others.insert(address);
    }
    if (foreign) {
      NoteForeign(*index, address, ours->tenant);
    } else {
      peer.foreign.erase(address);
    }
    if (!refused) {
      peer.refused.erase(address);
    } else if (peer.refused.size() < kMaxRefused) {
      peer.refused.insert(address);
    }
    if (a_pods && !refused) {
      SetPath(address, {ours->tenant, ours->rail, as_path, *index, false, ours->plane, ours->mark}, now);
    } else {
      RemovePath(address, *index, Said::kAnnouncedForNobody, now);
    }
    if (!ours && address.is_routed_unicast()) {
      SetBare(*index, address, as_path, looped);
    } else {
      RemoveBare(*index, address);
    }
  }
  if (!update.end_of_rib) return;
  peer.dump_awaited.erase(*update.end_of_rib);
  if (peer.dump_awaited.empty() && !peer.settling) Settle(now);
}

std::string Remotes::problem() const {
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) Append(text, "; ", part);
  };
  for (const auto& [kind, what] : complaints_) add(what);
  for (const std::string& what : leaves_.Problems()) add(what);
  for (const PeerState& peer : peers_) {
    if (!peer.others.empty()) {
      add("the leaf " + peer.peer.ToString() + " announces " + peer.others.begin()->ToString() +
          (peer.others.size() > 1 ? " and others" : "") + " of another tenant in VLAN " +
          std::to_string(scope_.vlan) +
          ": not learned; see what joins the tenants' VRFs on the leaf, or whose VLAN it is on other nodes");
    }
    if (peer.refused.empty()) continue;
    add("the leaf " + peer.peer.ToString() + " announces " + peer.refused.begin()->ToString() +
        (peer.refused.size() > 1 ? " and others" : "") +
        ", which rails[].accept does not contain: not learned; add the prefix in node.json if it belongs to "
        "the rail");
  }
  return text;
}

void Remotes::Complain(Complaint kind, std::string what) {
  news_ = complaints_.emplace(kind, std::move(what)).second || news_;
}

std::optional<Remotes::PeerIndex> Remotes::FindOrAdd(const bmp::Peer& peer, Feed feed) {
  const auto index = peers_.FindOrAdd(peer, feed);
  if (!index) {
    Complain(Complaint::kTooMuch, "more than " + std::to_string(kMaxPeers) + " BGP peers: " +
                                      peer.ToString() + " and those after it are not listened to");
  }
  return index;
}

void Remotes::SetPath(const IpAddress& address, const Path& path, Deadline now) {
  auto it = paths_.find(address);
  if (it == paths_.end()) {
    if (paths_.size() >= kMaxAddresses) {
      return Complain(Complaint::kTooMuch, "more than " + std::to_string(kMaxAddresses) +
                                               " addresses are announced: " + address.ToString() +
                                               " and others are not reachable");
    }
    it = paths_.emplace(address, Paths()).first;
  }
  Paths& paths = it->second;
  const Claim before = ClaimOf(address, paths);
  const auto same = std::ranges::find(paths, path.peer, &Path::peer);
  if (same != paths.end()) {
    NoteReplaced(address, *same, path);
    BeginLeaving(address, before, *same, path, now);
    UncountSeat(*same);
    *same = path;
  } else {
    paths.reserve(paths.size() + 1);
    paths.push_back(path);
  }
  CountSeat(path);
  Changed(address, before, ClaimOf(address, paths));
}

void Remotes::RemovePath(const IpAddress& address, PeerIndex peer, Said said, Deadline now) {
  const auto it = paths_.find(address);
  if (it == paths_.end()) return;
  const auto path = std::ranges::find(it->second, peer, &Path::peer);
  if (path == it->second.end()) return;
  // After a session has come up again, bgpd withdraws what it has not received again yet. That is not news of the leaf, which withdraws
  // nothing that it has not announced over this session.
  const bool bgpds_own =
      path->stale && (path->held() || now - peers_[peer].heard_up < kSettled || peers_[peer].end_of_rib_due);
  if (said == Said::kWithdrawn && bgpds_own) return;
  if (peers_[peer].twice) {
    peers_[peer].in_doubt = true;
    return;
  }
  const Claim before = ClaimOf(address, it->second);
  UncountSeat(*path);
  it->second.erase(path);
  Changed(address, before, ClaimOf(address, it->second));
  if (!it->second.empty()) return;
  paths_.erase(it);
  if (doubts_.replaced.erase(address) > 0) table_.doubts.reset();
}

}  // namespace rail::engine
