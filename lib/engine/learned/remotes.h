// What BGP says about pods elsewhere, per leaf, as bgpd pushes it (BMP).
//
// Use:      Remotes remotes(config, now);
//           remotes.SetLeaves(sessions);  remotes.SetOwn(own);
//           remotes.FeedOpened(now);  remotes.Take(message, now, unix_ms);  remotes.FeedClosed(now);
//           remotes.Settle(now);                    // forgets what is due; next_settle() says when to call it again
//           if (remotes.TakeNews()) Publish(remotes.table());
// Threads:  one; a table never changes
// Source:   README.md of this folder ("What has been learned"); lib/DECISIONS.md 14
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/config/node_config.h"
#include "lib/engine/learned/as_paths.h"
#include "lib/engine/learned/believed_leaves.h"
#include "lib/engine/learned/cluster_names.h"
#include "lib/engine/learned/leaving_now.h"
#include "lib/engine/learned/own_heard.h"
#include "lib/engine/learned/peers.h"
#include "lib/engine/learned/tenant_sets.h"
#include "lib/frr/bgp.h"
#include "lib/frr/bmp/message.h"

namespace rail::engine {

// What a leaf passes on may be one of two routes. Of an address that is no pod's of this node, what hints at that.
struct Doubts {
  // Another AS announced it for this tenant, and the leaf has replaced that without a withdrawal.
  struct Replaced {
    tenancy::TenantId tenant;
    HeardPath path;
  };
  std::map<IpAddress, Replaced> replaced;
  // Host routes without a tenant's communities; in mode `vrf` with the tenant in whose VRF they are, else with none.
  std::map<OwnKey, HeardPath> without_tenant;
};

// A leaf that sends addresses of this node's own pods back without their communities.
struct Stripped {
  IpAddress example;
  size_t addresses = 0;
  bool operator==(const Stripped&) const = default;
};

// Where a node is in the fabric: on this rail behind this leaf. As AS numbers, which is all that an AS path tells.
struct Seat {
  uint32_t node = 0;
  uint32_t rail = 0;  // its index
  uint32_t leaf = 0;
  std::optional<tenancy::Plane> plane{};  // as the node says
  auto operator<=>(const Seat&) const = default;
};
using Seats = std::vector<Seat>;  // sorted

// A snapshot of what is known, cheap to copy. A tenant that has not changed shares its set with the snapshot before; one that has
// changed shares most of it.
struct RemoteTable {
  // By tenant. An address that several tenants announce is in the set of each, as contested.
  TenantSets::Snapshots by_tenant;
  // They are in the set of their new tenant alone.
  std::shared_ptr<const LeavingAddresses> leaving = std::make_shared<const LeavingAddresses>();
  size_t known = 0;      // addresses
  size_t contested = 0;  // of those addresses
  struct Claimed {
    IpAddress address;
    std::set<tenancy::TenantId> tenants;
  };
  std::optional<Claimed> example;  // the first contested address that is not a pod's of this node
  AlsoAnnounced elsewhere;         // addresses of this node's pods that others announce, too
  std::shared_ptr<const Doubts> doubts = std::make_shared<const Doubts>();
  std::map<IpAddress, Stripped> stripped;  // by leaf
  AsPaths as_paths;
  // Of the other nodes that have a pod on the rail, as paths show that are not stale.
  std::shared_ptr<const Seats> seats = std::make_shared<const Seats>();
};

class Remotes {
 public:
  // A session that has just come up may not have sent everything yet.
  static constexpr std::chrono::seconds kSettled{5};
  // FRR's bgpd holds its first update for 1 s and 50 ms for each of its neighbours, 10 s at most (bgp_updgrp.h). A peer that owes
  // the end of a dump or its End-of-RIB for as long as kEndOfRibWait will not send it.
  static constexpr std::chrono::seconds kEndOfRibWait{30};
  // A leaf's restart time (RFC 4724), from the loss of its session on: its session comes back within it, and so do its own sessions
  // with the fabric, or the remotes behind it are gone for good. Counts only while bgpd pushes: otherwise nobody can say what is left,
  // and nothing is forgotten.
  static constexpr std::chrono::seconds kStale{120};
  // A peer's routes are counted for this time, to see whether it is busy.
  static constexpr std::chrono::seconds kWindow{1};
  static constexpr size_t kMaxAddresses = 1'000'000;
  static constexpr size_t kMaxPeers = Peers::kMost;
  static constexpr size_t kMaxRefused =
      4096;  // addresses of a leaf that are remembered as refused, or without a tenant

  // Mode `vrf`: one tenant's, as the tables of its VLAN say. What another tenant's communities are on is not believed there.
  struct Scope {
    uint16_t vlan = config::kNoVlan;
    tenancy::TenantId tenant;
    std::shared_ptr<AsPathsKeeper> as_paths;  // that of all tenants, as what they know is told together
    bool begins_complete = false;             // the switch holds nothing of it that is not learned yet
  };

  Remotes(const config::NodeConfig& config, Deadline now) : Remotes(config, now, Scope{}) {}
  Remotes(const config::NodeConfig& config, Deadline now, Scope scope);

  // bgpd's connections: one, which is 0; in mode `vrf` one for each rail, which is its place in node.json. The functions below are of the
  // one named `feed`.
  using Feed = size_t;
  // Mode `vrf`: the rails that the tenant is on. What was learned over others is forgotten.
  void SetRails(const std::set<Feed>& rails, Deadline now);

  // bgpd's sessions, by interface: the peers of the rails' bridges are the leaves, by address, AS and identifier. Nobody else is
  // believed, nor a leaf while a session on another interface has all three, too: nothing in BMP tells the two apart. A session of
  // which bgpd does not know the peer keeps the leaf that it had.
  void SetLeaves(const std::map<std::string, frr::Session>& sessions);
  bool IsLeaf(const bmp::Peer& peer, Feed feed = 0) const { return leaves_.Is(peer, feed); }
  // Whether bgpd has pushed routes of a leaf before it was known as one. Only the next connection tells them again.
  bool missed(Feed feed = 0) const { return peers_.feeds()[feed].missed; }

  // The addresses of this node's pods that are ready. Costs what differs from the last call, and one look at each.
  void SetOwn(std::map<IpAddress, OwnAddress> own);

  // Ids that tenants of this node have on nodes which call the cluster otherwise, with the tenant's id here: what is announced for the one
  // is the other's. Costs a look at every path when one is new.
  void SetAliases(const TenantAliases& aliases);
  // This cluster's mark. What is announced with another's is of a cluster that has the same name by mistake: it is not believed.
  // Without a mark the last one stays: a cluster has it for life. Costs a look at every path when it is new.
  void SetMark(std::optional<tenancy::ClusterMark> mark, Deadline now);

  // bgpd has opened a new connection: everything is stale until bgpd pushes it again.
  // `settling`: bgpd's own tables may still be filling.
  void FeedOpened(Deadline now, bool settling = false, Feed feed = 0);
  void FeedClosed(Deadline now, Feed feed = 0);
  void Take(const bmp::Message& message, Deadline now, int64_t unix_ms, Feed feed = 0);

  // `end_of_rib`: `leaf` will send an End-of-RIB when it has sent everything, and has not done so yet. Its session does not
  // settle before, but waits for kEndOfRibWait at most.
  void SetEndOfRibDue(const IpAddress& leaf, bool end_of_rib, Deadline now, Feed feed = 0) {
    peers_.SetEndOfRibDue(leaf, end_of_rib, now, feed);
  }
  // Whether a session waits for such an End-of-RIB, so that bgpd must be asked again.
  bool AwaitsEndOfRib() const { return peers_.AwaitsEndOfRib(); }

  void Settle(Deadline now);
  std::optional<Deadline> next_settle() const;

  // Whether a whole table has been learned over settled sessions since the start, or the
  // sessions have not settled within kStale of it.
  bool complete() const { return !complete_by_; }
  // Whether BMP cannot distinguish two sessions: their leaves have the same address, AS and identifier. What one session
  // withdraws, the other may still have, so it stays.
  bool ambiguous() const { return std::ranges::any_of(peers_, &PeerState::twice); }
  // The sessions were not two: one ended without a message (its neighbour was removed), and another took its place.
  void NotAmbiguous();
  // Whether such a peer has withdrawn something, or has come up in the middle of the connection.
  // Only the next connection says what is left.
  bool in_doubt(Feed feed = 0) const { return peers_.InDoubt(feed); }
  // Why raild does not take in all that bgpd pushes, as a sentence; "" it does.
  std::string problem() const;
  // Who announces what for a tenant of this node and is of another cluster of its name, as a sentence; "" nobody does.
  std::string other_cluster() const;
  // Whether sessions have come up or gone since the last call.
  bool TakeSessionNews() { return peers_.TakeNews(); }
  // Whether something that table(), complete() or problem() return has changed since the last call.
  bool TakeNews() { return std::exchange(news_, false); }
  bool has_news() const { return news_; }
  const RemoteTable& table();

 private:
  using PeerIndex = Peers::Index;
  using FeedState = Peers::FeedState;
  using PeerState = Peers::PeerState;
  struct Path {
    tenancy::TenantId tenant;
    std::optional<uint32_t> rail;
    uint32_t as_path = 0;  // of scope_.as_paths
    PeerIndex peer = 0;
    bool stale = false;
    std::optional<tenancy::Plane> plane{};
    std::optional<tenancy::ClusterMark> mark{};  // of the node's cluster
    // Stale, and its leaf has a new session, over which it has not announced it yet: it goes then. {}: it is not held.
    Deadline held_until{};
    bool held() const { return held_until != Deadline{}; }
  };
  using Paths = std::vector<Path>;
  struct Claim {  // what the paths of an address say together
    std::set<tenancy::TenantId> tenants;
    std::optional<uint32_t> rail;
    uint32_t as_path = 0;         // over the session of its rail, or the shortest
    tenancy::TenantId leaving{};  // its node has moved it from there a moment ago
    bool operator==(const Claim&) const = default;
  };

  bool by_rail() const { return scope_.vlan != config::kNoVlan; }
  void PeerUp(const bmp::Message& message, Deadline now, int64_t unix_ms, Feed feed);
  void PeerDown(const bmp::Message& message, Deadline now, Feed feed);
  void Routes(const bmp::Message& message, Deadline now, Feed feed);
  std::optional<PeerIndex> FindOrAdd(const bmp::Peer& peer, Feed feed);
  void MarkStale(PeerIndex peer, Deadline now);
  void Hold(PeerIndex peer);
  void DropStale(const std::function<bool(const Path&)>& which);
  // What `peer` says of an address.
  enum class Said { kWithdrawn, kAnnouncedForNobody };
  bool IsDue(const PeerState& peer, Deadline now) const;
  static Deadline SettlesAt(const PeerState& peer);
  void CompleteIfSettled();
  void Complete() { news_ = std::exchange(complete_by_, std::nullopt).has_value() || news_; }

  void SetPath(const IpAddress& address, const Path& path, Deadline now);
  void RemovePath(const IpAddress& address, PeerIndex peer, Said said, Deadline now);
  Claim ClaimOf(const IpAddress& address, const Paths& paths) const;
  void BeginLeaving(const IpAddress& address, const Claim& claim, const Path& before, const Path& after,
                    Deadline now);
  void EndLeaving(Deadline now);
  void CountSeat(const Path& path);
  void UncountSeat(const Path& path);
  void Changed(const IpAddress& address, const Claim& before, const Claim& after);
  void Enter(const IpAddress& address, const Claim& claim);
  void CompareWithOwn(const IpAddress& address);
  uint32_t KeepAsPath(const std::vector<uint32_t>& path);
  HeardPath Heard(PeerIndex peer, uint32_t as_path) const;
  std::optional<IpAddress> LeafOf(uint32_t rail) const;  // a rail's index
  void SetBare(PeerIndex peer, const IpAddress& address, uint32_t as_path, bool looped);
  void RemoveBare(PeerIndex peer, const IpAddress& address);
  void Forget(PeerIndex peer);
  void DoubtsChanged() {
    table_.doubts.reset();
    news_ = true;
  }
  void NoteReplaced(const IpAddress& address, const Path& before, const Path& after);
  void NoteForeign(PeerIndex peer, const IpAddress& address, tenancy::TenantId tenant);
  bool IsOverRail(PeerIndex peer, uint32_t rail) const;
  void TakeFromUnknownPeer(const bmp::Message& message, Feed feed);
  enum class Complaint { kMalformed, kTooMuch, kPostPolicy };
  void Complain(Complaint kind, std::string what);  // keeps the first of its kind

  const config::NodeConfig& config_;
  const Scope scope_;
  Peers peers_;
  ClusterNames names_;
  BelievedLeaves leaves_;
  std::optional<Deadline> complete_by_;  // it is complete then, whatever sessions are missing; nullopt: it is
  std::map<IpAddress, Paths> paths_;
  TenantSets sets_;
  LeavingNow leaving_;
  OwnHeard own_;
  std::map<Seat, size_t> seats_;  // how many paths that are not stale show it
  Doubts doubts_;                 // `without_tenant` is made with the table
  RemoteTable table_;             // of its shared parts, those that are nullptr are made anew
  bool news_ = false;
  std::map<Complaint, std::string> complaints_;
};

}  // namespace rail::engine
