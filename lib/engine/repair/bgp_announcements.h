// Keeps the addresses of this node's pods announced, as the record says, in all of bgpd's instances.
//
// Use:      AnnouncementRepair announcements(config, deps, record, node_status);
//           RAIL_TRY(announcements.Repair(connections, instances.all(), failed, sent));   // each audit, before the sessions
// Threads:  one
// Source:   README.md of this folder ("A rail without a carrier", "When the record is lost")
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/engine/repair/bgp_instances.h"

namespace rail::engine {

class AnnouncementRepair {
 public:
  AnnouncementRepair(const config::NodeConfig& config, const Deps& deps, RecordReader& record,
                     NodeStatus& node_status)
      : config_(config), deps_(deps), record_(record), node_status_(node_status) {}

  // Of all instances that bgpd has: an announcement in one that has no pod any more may be left of a pod. `sent` counts the addresses.
  Status Repair(Connections& connections, const std::vector<BgpInstance>& instances, FailedInstances& failed,
                size_t& sent);

 private:
  using Announced = std::map<IpAddress, frr::Announcement>;
  using Orphans = std::map<std::pair<std::string, IpAddress>, Deadline>;
  Status RepairIn(Connections& connections, frr::Bgp& bgp, const std::string& vrf, Orphans& still,
                  size_t& sent);
  // `stood`: as they were announced after the last audit; `stands`: as they are now.
  Status Announce(frr::Bgp& bgp, Connections& connections, const std::vector<frr::Announcement>& missing,
                  const Announced& stood, Announced& stands, size_t& sent);

  const config::NodeConfig& config_;
  const Deps& deps_;
  RecordReader& record_;
  NodeStatus& node_status_;
  std::map<std::string, Announced> announced_;  // by VRF, as the last audit has left them
  Orphans orphans_;                             // by VRF: announced and in no record, since when
};

}  // namespace rail::engine
