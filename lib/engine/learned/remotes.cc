#include "lib/engine/learned/remotes.h"

#include <algorithm>

#include "lib/engine/attach/tenant_vlans.h"

namespace rail::engine {
namespace {

// A leaf that sends at least this many routes within a second is still sending its table.
constexpr size_t kFlood = 200;
constexpr std::chrono::seconds kWindow{1};

// The one tenant, the rail and its plane that `communities` name; nullopt: they name no tenant, or tenants that contradict each other.
struct Ours {
  tenancy::TenantId tenant;
  std::optional<uint32_t> rail;
  std::optional<tenancy::Plane> plane;
};
std::optional<Ours> OursIn(const std::vector<tenancy::LargeCommunity>& communities, uint32_t asn) {
  const auto tenant = tenancy::TenantIn(asn, communities);
  if (!tenant) return std::nullopt;
  Ours ours{*tenant, std::nullopt, std::nullopt};
  for (const tenancy::LargeCommunity& community : communities) {
    if (!ours.rail) ours.rail = tenancy::RailOfCommunity(asn, community);
    if (!ours.plane) ours.plane = tenancy::PlaneOfCommunity(asn, community);
  }
  return ours.rail ? std::optional(ours) : std::nullopt;
}

bool CanBeAPods(const IpAddress& address) {
  return !address.is_unspecified() && !address.is_multicast() && !address.is_loopback() &&
         !address.is_link_local() && !address.is_broadcast();
}

}  // namespace

Remotes::Remotes(const config::NodeConfig& config, Deadline now, Scope scope)
    : config_(config),
      scope_([&] {
        if (!scope.as_paths) scope.as_paths = std::make_shared<AsPathsKeeper>();
        return std::move(scope);
      }()),
      feeds_(by_rail() ? config.rails.size() : 1, FeedState{.closed = now}),
      leaves_(config.rails.size()),
      complete_by_(now + kStale),
      as_paths_(*scope_.as_paths),
      complete_(scope_.begins_complete) {}

std::string Remotes::InterfaceOf(const config::Rail& rail) const {
  return by_rail() ? VlanPortName(rail, scope_.vlan) : rail.bridge;
}

bool Remotes::AnyOpen() const {
  return std::ranges::any_of(feeds_, [](const FeedState& feed) { return !feed.closed; });
}

void Remotes::SetRails(const std::set<Feed>& rails, Deadline now) {
  for (const Feed feed : rails_) {
    if (rails.contains(feed)) continue;
    FeedClosed(now, feed);
    leaves_[feed].reset();
    std::set<PeerIndex> gone;
    for (PeerIndex i = 0; i < peers_.size(); ++i) {
      if (peers_[i].feed == feed) gone.insert(i);
    }
    DropStale(gone);
  }
  rails_ = rails;
}

void Remotes::FeedOpened(Deadline now, bool settling, Feed feed) {
  FeedClosed(now, feed);
  FeedState& state = feeds_[feed];
  // What was learned does not age while bgpd pushes nothing: nobody could say what is left of it.
  const Clock::duration missed = now - *state.closed;
  if (!AnyOpen()) complete_by_ += missed;
  for (PeerState& peer : peers_) {
    if (peer.feed != feed) continue;
    if (peer.stale_until) *peer.stale_until += missed;
    peer.told = peer.twice = peer.in_doubt = false;
  }
  state = {.closed = std::nullopt, .settling = settling, .missed = false};
  malformed_.clear();
  post_policy_.clear();
  std::erase_if(strangers_, [&](const auto& stranger) { return stranger.first == feed; });
  pretenders_.clear();
}

void Remotes::SetLeaves(const std::map<std::string, frr::Session>& sessions) {
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const auto session = sessions.find(InterfaceOf(config_.rails[i]));
    if (session == sessions.end() || !session->second.peer || leaves_[i] == session->second.peer) continue;
    leaves_[i] = session->second.peer;
    FeedState& feed = feeds_[by_rail() ? i : 0];
    feed.missed = feed.missed || strangers_.contains({by_rail() ? i : 0, *leaves_[i]});
  }
}

bool Remotes::IsLeaf(const IpAddress& peer, Feed feed) const {
  if (by_rail()) return leaves_[feed] == peer;
  return std::ranges::find(leaves_, peer) != leaves_.end();
}

// A leaf with one address on several rails may announce what any of them accepts: BMP does not say over which session it comes.
bool Remotes::Accepts(const PeerState& peer, const IpAddress& address) const {
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (by_rail() ? i != peer.feed : leaves_[i] != peer.peer.address) continue;
    const std::vector<IpPrefix>& accept = config_.rails[i].accept;
    if (accept.empty() || std::ranges::any_of(accept, [&](const IpPrefix& p) { return p.Contains(address); }))
      return true;
  }
  return false;
}

// BMP has all neighbors of bgpd, those of the host's own BGP as well, and says nothing of what their import policy lets through.
void Remotes::TakeFromStranger(const bmp::Message& message, Feed feed) {
  const bool up = message.kind == bmp::Message::Kind::kPeerUp;
  session_news_ = session_news_ || up;
  if (message.peer.address.is_link_local() && strangers_.size() < kMaxPeers)
    strangers_.emplace(feed, message.peer.address);
  const bool ours = OursIn(message.update.communities, config_.bgp.community_asn).has_value();
  const auto known = pretenders_.find(message.peer);
  if (known == pretenders_.end()) {
    if (ours && !message.update.announced.empty() && pretenders_.size() < kMaxPretenders)
      pretenders_.emplace(message.peer, message.update.announced.front());
    return;
  }
  const auto names = [&](const std::vector<IpAddress>& list) {
    return std::ranges::find(list, known->second) != list.end();
  };
  if (up || names(message.update.withdrawn) || (!ours && names(message.update.announced)))
    pretenders_.erase(known);
}

void Remotes::FeedClosed(Deadline now, Feed feed) {
  if (!IsOpen(feed)) return;
  feeds_[feed].closed = now;
  for (PeerIndex i = 0; i < peers_.size(); ++i) {
    if (peers_[i].feed != feed) continue;
    peers_[i].up = peers_[i].settled = false;
    MarkStale(i, now);
  }
}

void Remotes::Take(const bmp::Message& message, Deadline now, int64_t unix_ms, Feed feed) {
  using Kind = bmp::Message::Kind;
  const bool by_leaf = message.kind == Kind::kPeerUp || message.kind == Kind::kRoutes;
  if (by_leaf && !IsLeaf(message.peer.address, feed)) return TakeFromStranger(message, feed);
  switch (message.kind) {
    case Kind::kPeerUp:
      return PeerUp(message, now, unix_ms, feed);
    case Kind::kPeerDown:
      return PeerDown(message, now, feed);
    case Kind::kRoutes:
      return Routes(message, now, feed);
    case Kind::kMalformed:
      return Complain(malformed_, "bgpd pushes what cannot be read: " + message.reason);
    case Kind::kPostPolicy:
      return Complain(
          post_policy_,
          "bgpd pushes its routes as they are after the import policy, and forgets some of them then: "
          "let it say \"bmp monitor ipv4 unicast pre-policy\", and the same for ipv6");
    case Kind::kStarted:
    case Kind::kEnded:
    case Kind::kOther:
      return;
  }
}

void Remotes::PeerUp(const bmp::Message& message, Deadline now, int64_t unix_ms, Feed feed) {
  const auto index = IndexOf(message.peer, feed);
  if (!index) return;
  PeerState& peer = peers_[*index];
  if (peer.up && (peer.local_port != message.local_port || peer.remote_port != message.remote_port)) {
    peer.twice = news_ = true;
  }
  // At a connection's beginning bgpd pushes all sessions before the first route.
  if (peer.twice && peer.told) peer.in_doubt = true;
  session_news_ = true;
  // The session may be much older than the connection over which bgpd reports it. If the
  // clock was set in between, it may look young.
  const int64_t age = message.since_ms > 0 ? unix_ms - message.since_ms : 0;
  peer.settling = feeds_[feed].settling || age < std::chrono::milliseconds(kSettled).count();
  peer.up = true;
  peer.settled = peer.owes_end = false;
  peer.heard_up = peer.window = now;
  peer.in_window = peer.in_window_before = 0;
  peer.local_port = message.local_port;
  peer.remote_port = message.remote_port;
  peer.dump_awaited = {message.families.begin(), message.families.end()};
  MarkStale(*index, now);
}

bool Remotes::ambiguous() const {
  return std::ranges::any_of(peers_, &PeerState::twice);
}

void Remotes::NotAmbiguous() {
  for (PeerState& peer : peers_) peer.twice = peer.in_doubt = false;
}

bool Remotes::in_doubt(Feed feed) const {
  return std::ranges::any_of(peers_,
                             [&](const PeerState& peer) { return peer.feed == feed && peer.in_doubt; });
}

void Remotes::Owes(const IpAddress& leaf, bool end_of_rib, Deadline now, Feed feed) {
  for (PeerState& peer : peers_) {
    if (!peer.up || peer.feed != feed || peer.peer.address != leaf) continue;
    if (peer.owes_end && !end_of_rib) peer.ended = now;
    peer.owes_end = end_of_rib;
  }
}

bool Remotes::AwaitsEndOfRib() const {
  return std::ranges::any_of(peers_, [](const PeerState& peer) {
    return peer.up && !peer.settled && peer.settling && peer.owes_end;
  });
}

void Remotes::PeerDown(const bmp::Message& message, Deadline now, Feed feed) {
  pretenders_.erase(message.peer);
  const auto known = index_.find({feed, message.peer});
  // A new connection begins with the sessions that are down, too.
  if (known == index_.end() || !peers_[known->second].up) return;
  session_news_ = true;
  peers_[known->second].up = peers_[known->second].settled = false;
  MarkStale(known->second, now);
}

void Remotes::Routes(const bmp::Message& message, Deadline now, Feed feed) {
  const auto index = IndexOf(message.peer, feed);
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
  for (const IpAddress& address : update.withdrawn) RemovePath(address, *index, now);
  const auto ours = OursIn(update.communities, config_.bgp.community_asn);
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
    RemoveBare(*index, address);
  }
  for (const IpAddress& address : update.announced) {
    const bool a_pods = ours && !anothers && !looped && CanBeAPods(address);
    const bool refused = a_pods && !Accepts(peer, address);
    if (!anothers) {
      peer.others.erase(address);
    } else if (peer.others.size() < kMaxRefused) {
      peer.others.insert(address);
    }
    if (!refused) {
      peer.refused.erase(address);
    } else if (peer.refused.size() < kMaxRefused) {
      peer.refused.insert(address);
    }
    if (a_pods && !refused) {
      SetPath(address, {ours->tenant, ours->rail, as_path, *index, false, ours->plane});
    } else {
      RemovePath(address, *index, now);
    }
    if (!ours && CanBeAPods(address)) {
      SetBare(*index, address, as_path, looped);
    } else {
      RemoveBare(*index, address);
    }
  }
  if (!update.end_of_rib) return;
  peer.dump_awaited.erase(*update.end_of_rib);
  if (peer.dump_awaited.empty() && !peer.settling) Settle(now);
}

// bgpd may push routes after an End-of-RIB that it has received before it.
Deadline Remotes::SettlesAt(const PeerState& peer) {
  if (!peer.settling || peer.owes_end) return peer.heard_up + kOwed;
  return std::max(peer.heard_up + kSettled, peer.ended + kWindow);
}

bool Remotes::IsDue(const PeerState& peer, Deadline now) const {
  if (!peer.up || peer.settled || peer.in_doubt || !IsOpen(peer.feed)) return false;
  if (peer.dump_awaited.empty() && !peer.settling) return true;
  // Without the end of a dump to rely upon, a session settles when it has been up for long enough and is not busy.
  if (now < SettlesAt(peer)) return false;
  return now - peer.window >= kWindow || (peer.in_window < kFlood && peer.in_window_before < kFlood);
}

void Remotes::Settle(Deadline now) {
  if (!AnyOpen()) return;
  std::set<PeerIndex> due;
  for (PeerIndex i = 0; i < peers_.size(); ++i) {
    PeerState& peer = peers_[i];
    if (IsDue(peer, now)) {
      peer.settled = true;
      due.insert(i);
    }
    if (peer.stale_until && IsOpen(peer.feed) && now >= *peer.stale_until) due.insert(i);
  }
  if (!due.empty()) {
    DropStale(due);
    CompleteIfSettled();
  }
  if (!complete_ && now >= complete_by_) complete_ = news_ = true;
}

// Every leaf has sent everything. What is still stale comes from a session that will not come back as the same peer.
void Remotes::CompleteIfSettled() {
  const auto settled = std::ranges::count_if(peers_, &PeerState::settled);
  if (static_cast<size_t>(settled) < (by_rail() ? rails_.size() : leaves_.size())) return;
  std::set<PeerIndex> silent;
  for (PeerIndex i = 0; i < peers_.size(); ++i) {
    if (!peers_[i].up && IsOpen(peers_[i].feed)) silent.insert(i);
  }
  DropStale(silent);
  if (!complete_) complete_ = news_ = true;
}

std::optional<Deadline> Remotes::next_settle() const {
  if (!AnyOpen()) return std::nullopt;
  std::optional<Deadline> next;
  if (!complete_) next = complete_by_;
  for (const PeerState& peer : peers_) {
    if (!IsOpen(peer.feed)) continue;
    if (peer.up && !peer.settled && !peer.in_doubt)
      next = Earlier(next, std::max(SettlesAt(peer), peer.window + kWindow));
    next = Earlier(next, peer.stale_until);
  }
  return next;
}

std::string Remotes::problem() const {
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : "; ") + part;
  };
  for (const std::string* part : {&malformed_, &too_much_, &post_policy_}) add(*part);
  if (!pretenders_.empty()) {
    const auto& [peer, address] = *pretenders_.begin();
    add("the BGP neighbor " + peer.ToString() + " announces " + address.ToString() +
        " with communities of ours and is not the leaf of a rail: it is not believed; find out who it is, "
        "and let it "
        "stop");
  }
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

void Remotes::Complain(std::string& where, std::string what) {
  if (!where.empty()) return;  // keeps the first of its kind
  where = std::move(what);
  news_ = true;
}

std::optional<Remotes::PeerIndex> Remotes::IndexOf(const bmp::Peer& peer, Feed feed) {
  if (const auto known = index_.find({feed, peer}); known != index_.end()) return known->second;
  if (peers_.size() >= kMaxPeers) {
    Complain(too_much_, "more than " + std::to_string(kMaxPeers) + " BGP peers: " + peer.ToString() +
                            " and those after it are not listened to");
    return std::nullopt;
  }
  const PeerIndex index = peers_.size();
  peers_.push_back({.peer = peer, .feed = feed});
  index_.emplace(std::pair(feed, peer), index);
  return index;
}

void Remotes::MarkStale(PeerIndex index, Deadline now) {
  bool any = false;
  Forget(index);
  for (auto& [address, paths] : paths_) {
    for (Path& path : paths) {
      if (path.peer != index || path.stale) continue;
      any = true;
      // From here on, what another peer says now overrules this path.
      const Claim before = ClaimOf(paths);
      Rise(path);
      path.stale = true;
      Changed(address, before, ClaimOf(paths));
    }
  }
  if (any && !peers_[index].stale_until) peers_[index].stale_until = now + kStale;
}

void Remotes::DropStale(const std::set<PeerIndex>& peers) {
  for (auto it = paths_.begin(); it != paths_.end();) {
    auto& [address, paths] = *it;
    const auto goes = [&](const Path& path) { return path.stale && peers.contains(path.peer); };
    if (std::ranges::any_of(paths, goes)) {
      const Claim before = ClaimOf(paths);
      std::erase_if(paths, goes);
      Changed(address, before, ClaimOf(paths));
    }
    if (paths.empty()) doubts_outdated_ |= doubts_.replaced.erase(address) > 0;
    it = paths.empty() ? paths_.erase(it) : std::next(it);
  }
  for (const PeerIndex peer : peers) peers_[peer].stale_until.reset();
}

void Remotes::SetPath(const IpAddress& address, const Path& path) {
  auto it = paths_.find(address);
  if (it == paths_.end()) {
    if (paths_.size() >= kMaxAddresses) {
      return Complain(too_much_, "more than " + std::to_string(kMaxAddresses) + " addresses are announced: " +
                                     address.ToString() + " and others are not reachable");
    }
    it = paths_.emplace(address, Paths()).first;
  }
  Paths& paths = it->second;
  const Claim before = ClaimOf(paths);
  const auto same = std::ranges::find(paths, path.peer, &Path::peer);
  if (same != paths.end()) {
    NoteReplaced(address, *same, path);
    Rise(*same);
    *same = path;
  } else {
    paths.reserve(paths.size() + 1);
    paths.push_back(path);
  }
  Sit(path);
  Changed(address, before, ClaimOf(paths));
}

void Remotes::RemovePath(const IpAddress& address, PeerIndex peer, Deadline now) {
  const auto it = paths_.find(address);
  if (it == paths_.end()) return;
  const auto path = std::ranges::find(it->second, peer, &Path::peer);
  if (path == it->second.end()) return;
  // After a session has come up again, bgpd withdraws what it has not received again yet. That is not news of the leaf.
  if (path->stale && (now - peers_[peer].heard_up < kSettled || peers_[peer].owes_end)) return;
  if (peers_[peer].twice) {
    peers_[peer].in_doubt = true;
    return;
  }
  const Claim before = ClaimOf(it->second);
  Rise(*path);
  it->second.erase(path);
  Changed(address, before, ClaimOf(it->second));
  if (!it->second.empty()) return;
  paths_.erase(it);
  doubts_outdated_ |= doubts_.replaced.erase(address) > 0;
}

}  // namespace rail::engine
