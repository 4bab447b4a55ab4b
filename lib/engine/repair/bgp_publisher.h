// Puts together what bgpd has told, for the other parts and the view, when it is not what was published last.
//
// Use:      BgpPublisher publisher(config, deps, record, node_status, remotes);
//           if (publisher.Publish(sessions, feeds, false)) ...   // after each message and each look; true: there was something new
// Threads:  one
// Source:   learned/README.md ("What has been learned", "Leaf and unit")
#pragma once

#include <optional>
#include <string>

#include "lib/engine/learned/leaves.h"
#include "lib/engine/learned/own_addresses.h"
#include "lib/engine/repair/bgp_feed.h"
#include "lib/engine/repair/bgp_sessions.h"

namespace rail::engine {

class BgpPublisher {
 public:
  BgpPublisher(const config::NodeConfig& config, const Deps& deps, RecordReader& record,
               NodeStatus& node_status, TenantRemotes& remotes);

  // `changed`: there is something new besides what is looked at here.
  bool Publish(const BgpSessions& sessions, const BgpFeeds& feeds, bool changed);
  // When a problem has lasted so long that it is told; nullopt: there is none.
  std::optional<Deadline> next() const;

 private:
  // What is told besides the table and the sessions.
  struct Told {
    std::string problem;
    bool bmp_up = false;
    bool alike = false;
    bool operator==(const Told&) const = default;
  };
  // What is wrong with the remotes, as a sentence.
  std::string ProblemOf(const RemoteTable& table);
  void LookAtLeaves(const BgpSessions& sessions);

  const config::NodeConfig& config_;
  const Deps& deps_;
  RecordReader& record_;
  NodeStatus& node_status_;
  TenantRemotes& remotes_;
  const Deadline started_;
  OwnAddresses own_;
  Leaves leaves_;
  std::optional<Deadline> contested_since_;  // since when some address has several tenants
  bool was_complete_ = false;
  Told told_;
};

}  // namespace rail::engine
