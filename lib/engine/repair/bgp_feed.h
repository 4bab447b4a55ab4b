// bgpd's BMP connections, one for each instance: that it is told to open them, what comes over them, and when one must begin anew.
//
// Use:      BgpFeeds feeds(config, deps, instances, remotes);
//           feeds.Ensure(connections);                                      // each audit
//           feeds.Opened(vrf);  feeds.Take(message, vrf);  feeds.Closed(vrf);
//           feeds.LookForStall(connections, sessions);  if (!feeds.to_close(vrf).empty()) ...
// Threads:  one
// Source:   learned/README.md ("What has been learned")
#pragma once

#include <map>
#include <optional>
#include <string>

#include "lib/engine/learned/bmp_stall.h"
#include "lib/engine/repair/bgp_instances.h"

namespace rail::engine {

class BgpFeeds {
 public:
  BgpFeeds(const config::NodeConfig& config, const Deps& deps, const BgpInstances& instances,
           TenantRemotes& remotes)
      : config_(config), deps_(deps), instances_(instances), remotes_(remotes) {}

  // As BgpRepair::NoFeed.
  void NoListener(std::string why) { why_no_listener_ = std::move(why); }
  // Every audit tries again, whatever keeps bgpd from pushing: it may be another bgpd by then.
  Status Ensure(Connections& connections);

  void Opened(const std::string& vrf);
  void Closed(const std::string& vrf);
  // True: bgpd's sessions may have changed, or they show whether two are alike.
  bool Take(const bmp::Message& message, const std::string& vrf);
  void SessionLost(const std::string& vrf);

  // Whether LookForStall has something to do.
  bool MayBeStalled() const;
  Status LookForStall(Connections& connections, const std::map<std::string, frr::Session>& sessions);
  // Looks whether two of bgpd's sessions are alike for BMP, if what came over it looks so.
  void CheckAlike(const std::map<std::string, frr::Session>& sessions);

  // As BgpRepair::feed_to_close.
  std::string to_close(const std::string& vrf) const;
  // When a connection is late, or to be closed, or may be stalled; nullopt: after the next event. Leaves out what a bgpd that does not answer
  // would be asked.
  std::optional<Deadline> next(bool answers) const;

  // Whether bgpd's connections are open, or bgpd still has time to open them anew.
  bool are_up() const { return why_no_listener_.empty() && Late() == nullptr; }
  // Whether BMP cannot distinguish two of bgpd's sessions.
  bool alike() const { return alike_; }
  // What is wrong with what bgpd pushes.
  Status health() const;

 private:
  struct Feed {
    Status configured;            // whether bgpd is configured to push, at the last check
    std::optional<Deadline> due;  // bgpd is configured to push and has until then to connect
    bool open = false;
    Deadline opened{};      // the last time
    bool settling = false;  // bgpd's feed configuration has changed since the last connection
    BmpStallDetector stall;
    bool MayBeStalled(Deadline now) const { return open && stall.IsDue(now); }
  };
  Status EnsureOne(Connections& connections, const BgpInstance& instance, Feed& feed);
  // An instance that is to push and does not, and whose time to connect has passed; nullptr: there is none.
  const BgpInstance* Late() const;
  frr::FeedTarget TargetOf(const BgpInstance& instance) const;

  const config::NodeConfig& config_;
  const Deps& deps_;
  const BgpInstances& instances_;
  TenantRemotes& remotes_;
  std::string why_no_listener_;        // "": somebody listens
  std::map<std::string, Feed> feeds_;  // by VRF
  bool alike_ = false;
};

}  // namespace rail::engine
