// What BGP has told about pods elsewhere, per peer, as bgpd pushes it (BMP).
//
// Use:      Remotes remotes(community_asn, rails, now);
//           remotes.FeedOpened(now);  remotes.Take(message, now, unix_ms);  remotes.FeedClosed(now);
//           remotes.Settle(now);                    // forgets what is due; next_settle() says when the next is
//           if (remotes.TakeNews()) Publish(remotes.table());
// Threads:  one; a table never changes
// Source:   README.md of this folder ("What has been learned"); DECISIONS 11, 14
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/bmp/message.h"
#include "lib/engine/remote_set.h"
#include "lib/frr/bgp.h"

namespace rail::engine {

// One look at what is known, cheap to copy: tenants that have not changed share their set with the look before, and those that
// have share most of it.
struct RemoteTable {
  // By tenant. An address that several tenants announce is in the set of each, as contested.
  std::map<tenancy::TenantId, std::shared_ptr<const RemoteSet>> by_tenant;
  size_t known = 0;      // addresses
  size_t contested = 0;  // of those
  struct Claimed {
    IpAddress address;
    std::set<tenancy::TenantId> tenants;
  };
  std::optional<Claimed> example;  // the first contested one
};

class Remotes {
 public:
  // A session that has just come up may not have sent everything yet; one that is down comes back within the leaf's graceful
  // restart time, or the remotes behind it are gone for good.
  static constexpr std::chrono::seconds kSettled{5};
  // FRR's bgpd holds its first update for 1 s and 50 ms for each of its neighbours, 10 s at most (bgp_updgrp.h). What owes the end
  // of something for that long will not send it.
  static constexpr std::chrono::seconds kOwed{30};
  // Counts while bgpd pushes: without that nobody can say what is left, and nothing is forgotten.
  static constexpr std::chrono::seconds kStale{120};
  static constexpr size_t kMaxAddresses = 1'000'000;
  static constexpr size_t kMaxPeers = 512;

  // `rails`: how many sessions with leaves this node has when all is well. `own_asn`: what bgpd drops a route for (RFC 4271 section
  // 9.1.2); it pushes what it has heard before that, and a leaf tells a node its own routes too. 0: none.
  Remotes(uint32_t community_asn, size_t rails, Deadline now, uint32_t own_asn = 0)
      : community_asn_(community_asn),
        rails_(rails),
        own_asn_(own_asn),
        closed_(now),
        complete_by_(now + kStale) {}

  // A new connection of bgpd: everything is stale until it is heard again. `settling`: bgpd's own tables may be filling.
  void FeedOpened(Deadline now, bool settling = false);
  void FeedClosed(Deadline now);
  void Take(const bmp::Message& message, Deadline now, int64_t unix_ms);

  // `leaf` will say when it has told all (End-of-RIB), and has not yet: its session does not settle before, for kOwed at most.
  void Owes(const IpAddress& leaf, bool end_of_rib, Deadline now);
  // Whether that is to be asked again.
  bool AwaitsEndOfRib() const;

  void Settle(Deadline now);
  std::optional<Deadline> next_settle() const;

  // A whole table has been learned over settled sessions since the start, or they have not settled within kStale of it.
  bool complete() const { return complete_; }
  // Peers that BMP does not tell apart: two sessions with a leaf of the same address, AS and identifier. What one withdraws the
  // other may still have, so it stays.
  bool ambiguous() const;
  // It was one session that ended without a word (its neighbour was removed) and another in its place.
  void NotAmbiguous();
  // Such a peer has withdrawn something, or came up amid the connection: the next one tells what is left.
  bool in_doubt() const;
  // What keeps us from taking in all that was told, a sentence; "" nothing.
  std::string problem() const;
  // Sessions have come up or gone since the last call.
  bool TakeSessionNews() { return std::exchange(session_news_, false); }
  // Something that table(), complete() or problem() say has changed since the last call.
  bool TakeNews() { return std::exchange(news_, false); }
  const RemoteTable& table();

 private:
  using PeerIndex = size_t;
  struct Path {
    tenancy::TenantId tenant;
    std::optional<uint32_t> rail;
    PeerIndex peer = 0;
    bool stale = false;
  };
  using Paths = std::vector<Path>;
  struct PeerState {
    bmp::Peer peer;
    bool up = false;
    bool settled = false;
    bool settling = false;  // its session or bgpd's configuration is young: the end of a dump says little
    bool owes_end = false;  // its leaf has not told all yet, and will say when
    bool told = false;      // something of it has come since the connection was opened
    bool twice = false;     // two sessions, as far as can be told
    bool in_doubt = false;  // which of its routes are left is to be told anew
    Deadline ended;         // when it was seen to have
    Deadline heard_up;
    std::set<bmp::Family> dump_awaited;
    uint16_t local_port = 0;
    uint16_t remote_port = 0;
    Deadline window;  // of the last second or so: how many routes came
    size_t in_window = 0;
    size_t in_window_before = 0;
    std::optional<Deadline> stale_until;  // some of its paths are stale, and go at this time at the latest
  };
  struct Claim {  // what the paths of an address come to
    std::set<tenancy::TenantId> tenants;
    std::optional<uint32_t> rail;
    bool operator==(const Claim&) const = default;
  };

  void PeerUp(const bmp::Message& message, Deadline now, int64_t unix_ms);
  void PeerDown(const bmp::Message& message, Deadline now);
  void Routes(const bmp::Message& message, Deadline now);
  std::optional<PeerIndex> IndexOf(const bmp::Peer& peer);
  void MarkStale(PeerIndex peer, Deadline now);
  void DropStale(const std::set<PeerIndex>& peers);
  bool IsDue(const PeerState& peer, Deadline now) const;
  static Deadline SettlesAt(const PeerState& peer);
  void CompleteIfSettled();

  void SetPath(const IpAddress& address, const Path& path);
  void RemovePath(const IpAddress& address, PeerIndex peer, Deadline now);
  static Claim ClaimOf(const Paths& paths);
  void Changed(const IpAddress& address, const Claim& before, const Claim& after);
  void Complain(std::string& where, std::string what);

  const uint32_t community_asn_;
  const size_t rails_;
  const uint32_t own_asn_;
  std::optional<Deadline> closed_;  // since when nothing is pushed; nothing: bgpd's connection is open
  Deadline complete_by_;            // whatever sessions are missing then
  std::vector<PeerState> peers_;
  std::map<bmp::Peer, PeerIndex> index_;
  std::map<IpAddress, Paths> paths_;
  std::map<tenancy::TenantId, RemoteSet> by_tenant_;
  std::map<IpAddress, std::set<tenancy::TenantId>> contested_;
  std::set<tenancy::TenantId> outdated_;  // whose set in table_ is not what by_tenant_ says
  RemoteTable table_;
  bool feed_settling_ = false;
  bool complete_ = false;
  bool news_ = false;
  bool session_news_ = false;
  std::string malformed_;
  std::string too_much_;
  std::string post_policy_;
};

}  // namespace rail::engine
