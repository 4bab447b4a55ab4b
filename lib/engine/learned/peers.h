// Whose sessions bgpd tells of over each of its connections, and how far each has got.
//
// Use:      Peers peers(feeds, now);  if (const auto index = peers.FindOrAdd(peer, feed)) peers[*index].up = true;
// Threads:  one
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/frr/bmp/message.h"
#include "lib/tenancy/tenancy.h"

namespace rail::engine {

class Peers {
 public:
  static constexpr size_t kMost = 512;
  using Index = size_t;
  struct FeedState {
    std::optional<Deadline> closed;  // since when bgpd pushes nothing over it; nullopt: it is open
    bool used = false;               // Remotes::SetRails
    bool settling = false;
    bool missed = false;
    std::set<bmp::Peer> unknown{};       // link-local peers that were not listened to
    std::map<bmp::Peer, Index> peers{};  // each message is of one of them
  };
  struct PeerState {
    bmp::Peer peer;
    size_t feed = 0;
    bool up = false;
    bool settled = false;
    bool settling = false;  // its session or bgpd's configuration is young: the end of a dump means little
    bool end_of_rib_due = false;  // its leaf has not sent its End-of-RIB yet, and will
    bool told = false;            // routes of it have come since the connection was opened
    bool twice = false;           // two sessions, as far as BMP shows
    bool in_doubt = false;        // only a new connection says which of its routes are left
    Deadline ended;               // when its End-of-RIB was noticed
    Deadline heard_up;
    std::set<bmp::Family> dump_awaited;
    uint16_t local_port = 0;
    uint16_t remote_port = 0;
    std::set<IpAddress> refused;  // what it announces and `accept` does not contain
    std::set<IpAddress> others;   // what it announces of other tenants than that of the scope
    std::map<IpAddress, tenancy::TenantId>
        foreign;                         // what it announces of another cluster, for these tenants
    std::map<IpAddress, uint32_t> bare;  // host routes without a tenant, with their AS path
    std::set<IpAddress> returned;        // those of them that this node has announced
    Deadline window;                     // when in_window began to count routes, for about a second
    size_t in_window = 0;
    size_t in_window_before = 0;
    std::optional<Deadline> stale_until;  // some of its paths are stale and are dropped then, at the latest
    std::optional<Deadline> held_until;   // the first of its held paths goes then
    bool lost = false;                    // its session has gone down since it came up last
  };

  // All of the feeds are closed.
  Peers(size_t feeds, Deadline now) : feeds_(feeds, FeedState{.closed = now}) {}

  std::vector<FeedState>& feeds() { return feeds_; }
  const std::vector<FeedState>& feeds() const { return feeds_; }
  bool IsOpen(size_t feed) const { return !feeds_[feed].closed; }
  bool AnyOpen() const {
    return std::ranges::any_of(feeds_, [](const FeedState& feed) { return !feed.closed; });
  }
  // What the open ones have told must be told again.
  void Missed() {
    for (FeedState& feed : feeds_) feed.missed = feed.missed || !feed.closed;
  }

  size_t size() const { return peers_.size(); }
  PeerState& operator[](Index peer) { return peers_[peer]; }
  const PeerState& operator[](Index peer) const { return peers_[peer]; }
  auto begin() { return peers_.begin(); }
  auto begin() const { return peers_.begin(); }
  auto end() { return peers_.end(); }
  auto end() const { return peers_.end(); }
  std::optional<Index> Find(const bmp::Peer& peer, size_t feed) const {
    const auto known = feeds_[feed].peers.find(peer);
    return known == feeds_[feed].peers.end() ? std::nullopt : std::optional(known->second);
  }
  // nullopt: it would be one more than kMost.
  std::optional<Index> FindOrAdd(const bmp::Peer& peer, size_t feed) {
    const auto known = Find(peer, feed);
    if (known || peers_.size() >= kMost) return known;
    peers_.push_back({.peer = peer, .feed = feed});
    return feeds_[feed].peers[peer] = peers_.size() - 1;
  }
  // As the functions of Remotes.
  void SetEndOfRibDue(const IpAddress& leaf, bool end_of_rib, Deadline now, size_t feed) {
    for (PeerState& peer : peers_) {
      if (!peer.up || peer.feed != feed || peer.peer.address != leaf) continue;
      if (peer.end_of_rib_due && !end_of_rib) peer.ended = now;
      peer.end_of_rib_due = end_of_rib;
    }
  }
  bool AwaitsEndOfRib() const {
    return std::ranges::any_of(peers_, [](const PeerState& peer) {
      return peer.up && !peer.settled && peer.settling && peer.end_of_rib_due;
    });
  }
  bool InDoubt(size_t feed) const {
    return std::ranges::any_of(peers_,
                               [&](const PeerState& one) { return one.feed == feed && one.in_doubt; });
  }
  // Sessions have come up or gone.
  void NoteNews() { news_ = true; }
  bool TakeNews() { return std::exchange(news_, false); }

 private:
  std::vector<FeedState> feeds_;
  std::vector<PeerState> peers_;
  bool news_ = false;
};

}  // namespace rail::engine
