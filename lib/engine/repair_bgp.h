// raild's repair of bgpd's running configuration, and what it learns from bgpd.
//
// Use:      BgpRepair repair(config, deps, *store, node_status);
//           repair.Audit();                   // configuration, announcements, sessions: at start, every 30 s
//           repair.FeedOpened();  repair.Pushed(message);  if (repair.Tell()) ...   // BMP
//           if (repair.Poll()) ...            // at next_poll(), and after an event; true: something new was learned
// Threads:  one; the NodeStatus may be shared
// Source:   README.md of this folder; DECISIONS 14 (what is kept while sessions are unsettled)
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "lib/engine/backoff.h"
#include "lib/engine/bmp_stall.h"
#include "lib/engine/frontend.h"
#include "lib/engine/leaves.h"
#include "lib/engine/node_status.h"
#include "lib/engine/own_addresses.h"
#include "lib/engine/verb_context.h"
#include "lib/netlink/tcp_monitor.h"

namespace rail::engine {

class BgpRepair {
 public:
  BgpRepair(const config::NodeConfig& config, const Deps& deps, state::Store& store, NodeStatus& node_status);

  bool Audit();
  // Forgets what is due. Asks bgpd for its sessions if they may have changed. Only an Audit asks a bgpd that does not answer().
  bool Poll();
  // When Poll has something to do; nullopt: after the next event. Leaves out what a bgpd that does not answer() would be asked.
  std::optional<Deadline> next_poll() const;

  // `why`: why nobody listens on bgp.bmp_port of the loopback; "": somebody does. While nobody
  // listens, bgpd is not configured to push there.
  void NoFeed(std::string why) { why_no_feed_ = std::move(why); }
  void FeedOpened();
  void FeedClosed(const std::string& why);
  // Why the caller must close this connection, so that bgpd opens another; "": keep it.
  std::string feed_to_close() const;
  void Pushed(const bmp::Message& message);
  // Call it after one or more Pushed, and when the record has changed. True: something new was learned.
  bool Tell();

  // TCP connections of bgpd have ended. If somebody removes a neighbor's statement, this is the only sign of it: bgpd pushes nothing
  // then. How an attempt to reach the leaf has ended is why the session is not there, and bgpd does not say it.
  void ConnectionsGone(const std::vector<netlink::TcpEnd>& ends);

  // These rails have a carrier again since `seen`. Their leaves have forgotten the sessions. Ends the node's side of these
  // sessions, which bgpd would otherwise keep until it notices. True: something new was learned.
  bool CarrierBack(const std::vector<std::string>& rails, Deadline seen);
  // Solicits the routers on these rails: the leaves, and the node itself, so that it advertises itself to
  // them. False: no rail is left to solicit.
  bool Solicit();

  // When to repair the configuration again after that has failed; nullopt: with the next audit.
  std::optional<Deadline> next_retry() const { return backoff_.next(); }
  // Whether the last Audit has repaired something. Whoever broke it may be at it still: look again soon.
  bool mended() const { return mended_; }
  // Whether bgpd accepted our connection when it was last asked.
  bool answers() const { return answers_; }
  // Whether bgpd has lost something since the last Audit: it was restarted, or somebody has removed a rail's neighbour.
  bool audit_due() const { return audit_due_; }

 private:
  Status RecordOrigin(Connections& connections);
  Status BgpBase(Connections& connections, const std::vector<config::Rail>& rails);
  void FrontendBase(Connections& connections,
                    const std::function<void(const std::string&, const Status&)>& note);
  void LookAtFrontend(Connections& connections, bool& changed);
  // Whether the front end is not whole, and has changed lately.
  bool FrontendMayChange() const;
  Status Announcements(Connections& connections);
  Status Announce(frr::Bgp& bgp, Connections& connections, const std::vector<frr::Announcement>& missing);
  Status EnsureFeed(Connections& connections);
  Status FeedHealth() const;
  Status Ask(Connections& connections, bool& changed);
  Status Sessions(Connections& connections, bool& changed);
  void CheckAmbiguity(const std::vector<frr::Session>& sessions);
  bool MayBeStalled() const { return feed_open_ && stall_.IsDue(deps_.now()); }
  Status LookForStall(Connections& connections);
  bool AskAndTell(Connections& connections);
  bool TellIf(bool changed);
  void LookAtLeaves();
  void AskWho(const bmp::Message& message);
  Status PrefixHealth() const;
  // Whether bgpd's connection is open, or bgpd still has time to open it anew.
  bool FeedIsUp() const;

  const config::NodeConfig& config_;
  const Deps deps_;
  RecordReader record_;
  NodeStatus& node_status_;
  Backoff backoff_{std::chrono::milliseconds(250), std::chrono::seconds(5)};
  Backoff ask_backoff_{std::chrono::milliseconds(250), std::chrono::seconds(5)};
  bool answers_ = true;
  bool all_neighbours_ =
      false;  // bgpd had a neighbour for every rail and link of the front end when it was last asked
  bool audit_due_ = false;
  bool mended_ = false;

  const Deadline started_;
  Remotes remotes_;
  OwnAddresses own_;
  FrontendRepair frontend_;
  FrontendView seen_frontend_;
  Deadline frontend_changed_{};
  Leaves leaves_;
  bool told_complete_ = false;
  std::string told_problem_;
  bool told_bmp_up_ = false;
  bool told_ambiguous_ = false;
  bool untold_ = false;                           // sessions_ has changed since what was told last
  std::map<std::string, frr::Session> sessions_;  // by interface
  bool sessions_outdated_ = true;
  Deadline asked_;  // when bgpd was last asked for its sessions

  std::map<IpAddress, Deadline> orphans_;  // announced and in no record, since when

  std::map<std::string, Deadline> solicit_;  // interfaces whose sessions are awaited, and until when

  std::string why_no_feed_;           // "": somebody listens
  Status feed_configured_;            // whether bgpd is configured to push, at the last check
  std::optional<Deadline> feed_due_;  // bgpd is configured to push and has until then to connect
  bool feed_open_ = false;
  Deadline feed_opened_;        // the last time
  bool alike_ = false;          // BMP cannot distinguish two of bgpd's sessions
  bool feed_settling_ = false;  // bgpd's feed configuration has changed since the last connection
  BmpStallDetector stall_;
  std::optional<Deadline> contested_since_;  // since when some address has several tenants
};

}  // namespace rail::engine
