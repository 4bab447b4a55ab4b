// What was learned and is not sure any more: stale when its session or the connection has gone, held when its leaf has a new session.
#include <algorithm>

#include "lib/engine/learned/remotes.h"

namespace rail::engine {
namespace {

// A leaf that sends at least this many routes within a second is still sending its table.
constexpr size_t kFlood = 200;

}  // namespace

// bgpd may push routes after an End-of-RIB that it has received before it.
Deadline Remotes::SettlesAt(const PeerState& peer) {
  if (!peer.settling) return peer.window + kEndOfRibWait;  // of silence: a busy node has pauses in a dump
  if (peer.end_of_rib_due) return peer.heard_up + kEndOfRibWait;
  return std::max(peer.heard_up + kSettled, peer.ended + kWindow);
}

bool Remotes::IsDue(const PeerState& peer, Deadline now) const {
  if (!peer.up || peer.settled || peer.in_doubt || !peers_.IsOpen(peer.feed)) return false;
  if (peer.dump_awaited.empty() && !peer.settling) return true;
  // Without the end of a dump to rely upon, a session settles when it has been up for long enough and is not busy.
  if (now < SettlesAt(peer)) return false;
  return now - peer.window >= kWindow || (peer.in_window < kFlood && peer.in_window_before < kFlood);
}

void Remotes::Settle(Deadline now) {
  EndLeaving(now);
  if (!peers_.AnyOpen()) return;
  std::set<PeerIndex> due;
  bool held_due = false;
  for (PeerIndex i = 0; i < peers_.size(); ++i) {
    PeerState& peer = peers_[i];
    if (peer.up && leaves_.LooksLikeAnother(peer.peer)) {
      peer.up = peer.settled = false;
      MarkStale(i, now);
    }
    if (IsDue(peer, now)) {
      peer.settled = true;
      due.insert(i);
    }
    if (!peers_.IsOpen(peer.feed)) continue;
    if (peer.stale_until && now >= *peer.stale_until) due.insert(i);
    held_due = held_due || (peer.held_until && now >= *peer.held_until);
  }
  if (!due.empty() || held_due) {
    DropStale([&](const Path& path) {
      return path.held() ? peers_.IsOpen(peers_[path.peer].feed) && now >= path.held_until
                         : due.contains(path.peer);
    });
  }
  if (!due.empty()) CompleteIfSettled();
  if (complete_by_ && now >= *complete_by_) Complete();
}

// Every leaf has sent everything. What is still stale comes from a session that will not come back as the same peer.
void Remotes::CompleteIfSettled() {
  const auto settled = std::ranges::count_if(peers_, &PeerState::settled);
  const auto wanted =
      by_rail() ? std::ranges::count_if(peers_.feeds(), &FeedState::used) : std::ssize(config_.rails);
  if (settled < wanted) return;
  std::set<PeerIndex> silent;
  for (PeerIndex i = 0; i < peers_.size(); ++i) {
    if (!peers_[i].up && peers_.IsOpen(peers_[i].feed)) silent.insert(i);
  }
  DropStale([&](const Path& path) { return silent.contains(path.peer); });
  Complete();
}

std::optional<Deadline> Remotes::next_settle() const {
  std::optional<Deadline> next = leaving_.next();  // also while bgpd pushes nothing
  if (!peers_.AnyOpen()) return next;
  next = Earlier(next, complete_by_);
  for (const PeerState& peer : peers_) {
    if (!peers_.IsOpen(peer.feed)) continue;
    if (peer.up && !peer.settled && !peer.in_doubt)
      next = Earlier(next, std::max(SettlesAt(peer), peer.window + kWindow));
    next = Earlier(Earlier(next, peer.stale_until), peer.held_until);
  }
  return next;
}

void Remotes::MarkStale(PeerIndex index, Deadline now) {
  bool any = false;
  Forget(index);
  for (auto& [address, paths] : paths_) {
    for (Path& path : paths) {
      if (path.peer != index || path.stale) continue;
      any = true;
      // From here on, what another peer says now overrules this path.
      const Claim before = ClaimOf(address, paths);
      UncountSeat(path);
      path.stale = true;
      Changed(address, before, ClaimOf(address, paths));
    }
  }
  if (any && !peers_[index].stale_until) peers_[index].stale_until = now + kStale;
}

// A leaf that restarts may have its sessions with nodes before those with the fabric, and its End-of-RIB then says nothing of what comes over
// the latter. What another peer, or itself, announces meanwhile overrules what is held.
void Remotes::Hold(PeerIndex index) {
  PeerState& peer = peers_[index];
  if (!peer.stale_until) return;
  for (auto& [address, paths] : paths_) {
    for (Path& path : paths) {
      if (path.peer == index && path.stale && !path.held()) path.held_until = *peer.stale_until;
    }
  }
  peer.held_until = Earlier(peer.held_until, peer.stale_until);
}

void Remotes::DropStale(const std::function<bool(const Path&)>& which) {
  for (PeerState& peer : peers_) peer.held_until.reset();
  std::set<PeerIndex> waiting;
  for (auto it = paths_.begin(); it != paths_.end();) {
    auto& [address, paths] = *it;
    const auto goes = [&](const Path& path) { return path.stale && which(path); };
    if (std::ranges::any_of(paths, goes)) {
      const Claim before = ClaimOf(address, paths);
      std::erase_if(paths, goes);
      Changed(address, before, ClaimOf(address, paths));
    }
    if (paths.empty() && doubts_.replaced.erase(address) > 0) table_.doubts.reset();
    for (const Path& path : paths) {
      if (path.held()) {
        peers_[path.peer].held_until = Earlier(peers_[path.peer].held_until, path.held_until);
      } else if (path.stale) {
        waiting.insert(path.peer);
      }
    }
    it = paths.empty() ? paths_.erase(it) : std::next(it);
  }
  for (PeerIndex i = 0; i < peers_.size(); ++i) {
    if (!waiting.contains(i)) peers_[i].stale_until.reset();
  }
}

}  // namespace rail::engine
