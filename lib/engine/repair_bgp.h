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
#include "lib/engine/node_status.h"
#include "lib/engine/verb_context.h"

namespace rail::engine {

class BgpRepair {
 public:
  BgpRepair(const config::NodeConfig& config, const Deps& deps, state::Store& store, NodeStatus& node_status);

  bool Audit();
  // Forgets what is due; asks bgpd for its sessions when they may have changed, one that does not answer() with an Audit only.
  bool Poll();
  // When Poll has something to do; nothing: after the next event. Of a bgpd that does not answer() it says nothing.
  std::optional<Deadline> next_poll() const;

  // Nobody listens on bgp.bmp_port of the loopback, for this reason; "": somebody does. bgpd is not told to push there meanwhile.
  void NoFeed(std::string why) { why_no_feed_ = std::move(why); }
  void FeedOpened();
  void FeedClosed(const std::string& why);
  // Why this connection is of no use any more, and is to be closed, for bgpd to open another; "" it is.
  std::string feed_to_close() const;
  void Pushed(const bmp::Message& message);
  // After a row of Pushed: true: something new was learned.
  bool Tell();

  // A TCP connection of bgpd has ended. That of a neighbor whose statement somebody removes is all that tells of it: bgpd pushes
  // nothing then.
  void ConnectionGone() { sessions_outdated_ = true; }

  // These rails have a carrier again since `seen`. Their leaves have forgotten the sessions, and the node's end of them would wait
  // until it finds out: it is ended. True: something new was learned.
  bool CarrierBack(const std::vector<std::string>& rails, Deadline seen);
  // Asks the leaves of these rails to make themselves known, and bgpd's own host to them. False: nobody is left to be asked.
  bool Solicit();

  // When the configuration is to be looked at again after it could not be put right; nothing: with the next audit.
  std::optional<Deadline> next_retry() const { return backoff_.next(); }
  // Whether bgpd took our connection when last asked.
  bool answers() const { return answers_; }
  // Whether bgpd has lost something since the last Audit: it was restarted, or somebody has removed a rail's neighbour.
  bool audit_due() const { return audit_due_; }

 private:
  Status BgpBase(Connections& connections, const std::vector<config::Rail>& rails);
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
  // Whether bgpd's connection is there, or is only being opened anew.
  bool FeedIsUp() const;

  const config::NodeConfig& config_;
  const Deps deps_;
  RecordReader record_;
  NodeStatus& node_status_;
  Backoff backoff_{std::chrono::milliseconds(250), std::chrono::seconds(5)};
  Backoff ask_backoff_{std::chrono::milliseconds(250), std::chrono::seconds(5)};
  bool answers_ = true;
  bool all_neighbours_ = false;  // every rail's was there when last asked
  bool audit_due_ = false;

  const Deadline started_;
  Remotes remotes_;
  bool told_complete_ = false;
  std::string told_problem_;
  bool told_bmp_up_ = false;
  bool told_ambiguous_ = false;
  std::map<std::string, frr::Session> sessions_;  // by interface
  bool sessions_outdated_ = true;
  Deadline asked_;  // when bgpd was last asked for them

  std::map<std::string, Deadline> solicit_;  // interfaces of sessions that are waited for, and how long

  std::string why_no_feed_;           // "": somebody listens
  Status feed_configured_;            // that bgpd is told to push, when last looked
  std::optional<Deadline> feed_due_;  // bgpd was told to push and has until then to connect
  bool feed_open_ = false;
  Deadline feed_opened_;        // the last time
  bool alike_ = false;          // two of its sessions are the same to BMP
  bool feed_settling_ = false;  // bgpd was told something new about its feed since the last connection
  BmpStallDetector stall_;
  std::optional<Deadline> contested_since_;  // some addresses have two tenants
};

}  // namespace rail::engine
