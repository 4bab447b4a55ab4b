// bgpd's sessions, as it was last asked for them, and when to ask again.
//
// Use:      BgpSessions sessions(config, deps, instances, remotes, feeds);
//           sessions.Outdated();                      // an event says that they may have changed
//           RAIL_TRY(sessions.Ask(connections));      // at next()
// Threads:  one
// Source:   README.md of this folder ("A rail without a carrier", "What wakes the repair")
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/engine/repair/backoff.h"
#include "lib/engine/repair/bgp_feed.h"
#include "lib/netlink/tcp_monitor.h"

namespace rail::engine {

class BgpSessions {
 public:
  BgpSessions(const config::NodeConfig& config, const Deps& deps, const BgpInstances& instances,
              TenantRemotes& remotes, BgpFeeds& feeds)
      : config_(config), deps_(deps), instances_(instances), remotes_(remotes), feeds_(feeds) {}

  const std::map<std::string, frr::Session>& all() const { return all_; }  // by interface
  // A rail's leaf is one, however many tenants it serves.
  std::map<std::string, frr::Session> ByBridge() const;
  // Whether all() has changed since the last call.
  bool TakeChanged() { return std::exchange(changed_, false); }
  // Whether no leaf sends more prefixes than are expected.
  Status PrefixHealth() const;

  // Reads them, and tells `remotes` and `feeds` what they say of leaves and losses.
  Status Read(Connections& connections);
  // Reads them, and whether a feed is stalled. Notes when to ask again.
  Status Ask(Connections& connections);
  void Outdated() { outdated_ = true; }
  // Whether Ask may tell something new: they are outdated, or it awaits what bgpd does not push.
  bool IsDue() const { return outdated_ || remotes_.AwaitsEndOfRib() || feeds_.MayBeStalled(); }
  // After a failed Ask: when to ask again.
  std::optional<Deadline> next_retry() const { return backoff_.next(); }
  bool IsTooSoon() const { return backoff_.next() && !backoff_.Due(); }
  // When to ask; nullopt: after the next event.
  std::optional<Deadline> next() const;

  // As of BgpRepair.
  bool answers() const { return answers_; }
  bool audit_due() const { return audit_due_; }
  void AuditBegins() { audit_due_ = false; }
  void ConnectionsGone(const std::vector<netlink::TcpEnd>& ends);
  Status CarrierBack(Connections& connections, const std::vector<std::string>& rails, Deadline seen);
  bool Solicit();

 private:
  bool HasAllNeighbours() const;

  const config::NodeConfig& config_;
  const Deps& deps_;
  const BgpInstances& instances_;
  TenantRemotes& remotes_;
  BgpFeeds& feeds_;
  std::map<std::string, frr::Session> all_;
  bool changed_ = false;
  bool outdated_ = true;
  Deadline asked_;
  Backoff backoff_{std::chrono::milliseconds(250), std::chrono::seconds(5)};
  bool answers_ = true;
  bool all_neighbours_ = false;  // as HasAllNeighbours, when bgpd was last asked
  bool audit_due_ = false;
  std::map<std::string, Deadline> solicit_;  // interfaces whose sessions are awaited, and until when
};

}  // namespace rail::engine
