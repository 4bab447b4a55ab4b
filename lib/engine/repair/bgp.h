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
#include <set>
#include <vector>

#include "lib/engine/attach/tenant_link.h"
#include "lib/engine/attach/verb_context.h"
#include "lib/engine/learned/bmp_stall.h"
#include "lib/engine/learned/leaves.h"
#include "lib/engine/learned/own_addresses.h"
#include "lib/engine/learned/tenant_remotes.h"
#include "lib/engine/repair/backoff.h"
#include "lib/engine/repair/frontend.h"
#include "lib/engine/repair/node_status.h"
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
  // Each instance of bgpd has a connection of its own; `vrf` says of which it is, "" of the default one.
  void FeedOpened(const std::string& vrf = "");
  void FeedClosed(const std::string& why, const std::string& vrf = "");
  // Why the caller must close this connection, so that bgpd opens another; "": keep it.
  std::string feed_to_close(const std::string& vrf = "") const;
  void Pushed(const bmp::Message& message, const std::string& vrf = "");
  // Call it after one or more Pushed, and when the record has changed. True: something new was learned.
  bool Tell();

  // Whether bgpd needs another instance than at the last audit, or one has been without a pod for long enough: then an audit is due.
  bool InstancesChanged();

  // TCP connections of bgpd have ended. If somebody removes a neighbor's statement, this is the only sign of it: bgpd pushes nothing
  // then. How an attempt to reach the leaf has ended is why the session is not there, and bgpd does not say it.
  void ConnectionsGone(const std::vector<netlink::TcpEnd>& ends);

  // The host's routes have changed: of the front end, it is looked at again. False: there is none.
  bool RoutesChanged() {
    sessions_outdated_ = sessions_outdated_ || config_.frontend.on();
    return config_.frontend.on();
  }

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
  std::optional<tenancy::ClusterMark> Mark() const;
  Status RecordOrigin(Connections& connections);
  enum class Peers { kNone, kAll };
  using Failed =
      std::map<std::string, Status>;  // by VRF: instances that this audit leaves as they are, and why
  Status BgpBase(Connections& connections, Peers peers, Failed& failed);
  Status Base(Connections& connections, const BgpInstance& instance, Peers peers);
  // Takes the instances from the record; on an error those of the last reading stay.
  Status ReadInstances();
  Status RemoveUnused(Connections& connections);
  Status RemoveInstance(Connections& connections, frr::Bgp& bgp, const std::string& vrf);
  const BgpInstance* InstanceOf(const std::string& interface) const;
  // The VRF of the instance that has the session on `interface`.
  std::string VrfOf(const std::string& interface) const;
  void FrontendBase(Connections& connections, const std::function<void(Part, const Status&)>& note);
  void LookAtFrontend(Connections& connections, bool& changed);
  // Whether the front end is not whole, and has changed lately.
  bool FrontendMayChange() const;
  Status Announcements(Connections& connections, Failed& failed);
  Status AnnouncementsIn(Connections& connections, frr::Bgp& bgp, const std::string& vrf,
                         std::map<std::pair<std::string, IpAddress>, Deadline>& still);
  using Announced = std::map<IpAddress, frr::Announcement>;
  // `stood`: as they were announced after the last audit; `stands`: as they are now.
  Status Announce(frr::Bgp& bgp, Connections& connections, const std::vector<frr::Announcement>& missing,
                  const Announced& stood, Announced& stands);
  // How often to open a connection anew because of sessions that BMP cannot distinguish. bgpd dumps its table each time.
  static constexpr std::chrono::seconds kInDoubt{30};
  struct Feed {
    Status configured;            // whether bgpd is configured to push, at the last check
    std::optional<Deadline> due;  // bgpd is configured to push and has until then to connect
    bool open = false;
    Deadline opened{};      // the last time
    bool settling = false;  // bgpd's feed configuration has changed since the last connection
    BmpStallDetector stall;
    bool MayBeStalled(Deadline now) const { return open && stall.IsDue(now); }
  };
  Status EnsureFeeds(Connections& connections);
  Status EnsureFeed(Connections& connections, const BgpInstance& instance);
  Status FeedHealth() const;
  Status Ask(Connections& connections, bool& changed);
  Status Sessions(Connections& connections, bool& changed);
  void CheckAmbiguity(const std::vector<frr::Session>& sessions);
  bool MayBeStalled() const;
  void SessionLost(const std::string& interface);
  Status LookForStall(Connections& connections);
  bool AskAndTell(Connections& connections);
  bool TellIf(bool changed);
  void LookAtLeaves();
  void AskWho(const bmp::Message& message, const std::string& vrf);
  Status PrefixHealth() const;
  // Whether bgpd's connections are open, or bgpd still has time to open them anew.
  bool FeedIsUp() const { return why_no_feed_.empty() && WithoutFeed() == nullptr; }
  // An instance that is to push and does not, and whose time to connect has passed; nullptr: there is none.
  const BgpInstance* WithoutFeed() const;
  frr::FeedTarget FeedTargetOf(const BgpInstance& instance) const;

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

  std::set<std::string> stood_;                 // VRFs of instances whose configuration was whole once
  std::map<std::string, Announced> announced_;  // by VRF, as the last audit has left them
  const Deadline started_;
  std::vector<BgpInstance> instances_;
  std::map<std::string, Unused> unused_;  // instances, by rail
  TenantRemotes remotes_;
  OwnAddresses own_;
  FrontendRepair frontend_;
  v1::NodeInfo seen_frontend_;
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

  std::map<std::pair<std::string, IpAddress>, Deadline>
      orphans_;  // by VRF: announced and in no record, since when

  std::map<std::string, Deadline> solicit_;  // interfaces whose sessions are awaited, and until when

  std::string why_no_feed_;                  // "": somebody listens
  std::map<std::string, Feed> feeds_;        // by VRF
  bool alike_ = false;                       // BMP cannot distinguish two of bgpd's sessions
  std::optional<Deadline> contested_since_;  // since when some address has several tenants
};

}  // namespace rail::engine
