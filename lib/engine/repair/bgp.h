// raild's repair of bgpd's running configuration, and what it learns from bgpd.
//
// Use:      BgpRepair repair(config, deps, *store, node_status);
//           repair.Audit();                   // configuration, announcements, sessions: at start, every 30 s
//           repair.FeedOpened();  repair.Pushed(message);  if (repair.Tell()) ...   // BMP
//           if (repair.Poll()) ...            // at next_poll(), and after an event; true: something new was learned
// Threads:  one; the NodeStatus may be shared
// Source:   README.md of this folder; DECISIONS 14 (what is kept while sessions are unsettled)
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/engine/repair/bgp_announcements.h"
#include "lib/engine/repair/bgp_publisher.h"
#include "lib/engine/repair/frontend.h"

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
  void NoFeed(std::string why) { feeds_.NoListener(std::move(why)); }
  // Each instance of bgpd has a connection of its own; `vrf` says of which it is, "" of the default one.
  void FeedOpened(const std::string& vrf = "");
  void FeedClosed(const std::string& why, const std::string& vrf = "");
  // Why the caller must close this connection, so that bgpd opens another; "": keep it.
  std::string feed_to_close(const std::string& vrf = "") const { return feeds_.to_close(vrf); }
  void Pushed(const bmp::Message& message, const std::string& vrf = "");
  // Call it after one or more Pushed, and when the record has changed. True: something new was learned.
  bool Tell();

  // Whether bgpd needs another instance than at the last audit, or one has been without a pod for long enough: then an audit is due.
  bool InstancesChanged();

  // TCP connections of bgpd have ended. If somebody removes a neighbor's statement, this is the only sign of it: bgpd pushes nothing
  // then. How an attempt to reach the leaf has ended is why the session is not there, and bgpd does not say it.
  void ConnectionsGone(const std::vector<netlink::TcpEnd>& ends) { sessions_.ConnectionsGone(ends); }

  // The host's default routes have changed: the front end is looked at again. False: there is none.
  bool DefaultRoutesChanged() {
    if (config_.frontend.on()) sessions_.Outdated();
    return config_.frontend.on();
  }

  // These rails have a carrier again since `seen`. Their leaves have forgotten the sessions. Ends the node's side of these
  // sessions, which bgpd would otherwise keep until it notices. True: something new was learned.
  bool CarrierBack(const std::vector<std::string>& rails, Deadline seen);
  // Solicits the routers on these rails: the leaves, and the node itself, so that it advertises itself to
  // them. False: no rail is left to solicit.
  bool Solicit() { return sessions_.Solicit(); }

  // When to repair the configuration again after that has failed; nullopt: with the next audit.
  std::optional<Deadline> next_retry() const { return backoff_.next(); }
  // Whether the last Audit has repaired something. Whoever broke it may be at it still: look again soon.
  bool mended() const { return mended_; }
  // Whether bgpd accepted our connection when it was last asked.
  bool answers() const { return sessions_.answers(); }
  // Whether bgpd has lost something since the last Audit: it was restarted, or somebody has removed a rail's neighbour.
  bool audit_due() const { return sessions_.audit_due(); }

 private:
  using Note = std::function<void(Part, const Status&)>;
  void RepairFrontend(Connections& connections, const Note& note, size_t& sent);
  bool AskAndPublish(Connections& connections);
  bool Publish(bool changed = false);
  void AskWho(const bmp::Message& message, const std::string& vrf);

  const config::NodeConfig& config_;
  const Deps deps_;
  RecordReader record_;
  NodeStatus& node_status_;
  Backoff backoff_{std::chrono::milliseconds(250), std::chrono::seconds(5)};
  bool mended_ = false;
  TenantRemotes remotes_;
  BgpInstances instances_;
  AnnouncementRepair announcements_;
  FrontendRepair frontend_;
  BgpFeeds feeds_;
  BgpSessions sessions_;
  BgpPublisher publisher_;
};

}  // namespace rail::engine
