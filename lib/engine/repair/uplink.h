// Whether each rail's uplink has a carrier. A rail without one is down: its addresses are withdrawn until it is back.
//
// Use:      UplinkWatch watch(config, deps, node_status);
//           if (const UplinkNews news = watch.Look(); news.changed) ...    // the announcements must follow
//           if (watch.Concerned(changes.links)) ...    // an event of one of the uplinks
// Threads:  one; the NodeStatus may be shared
// Source:   README.md of this folder ("A rail without a carrier")
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/engine/attach/verb_context.h"
#include "lib/engine/repair/node_status.h"

namespace rail::engine {

struct UplinkNews {
  bool changed = false;           // a rail has gone down, or is up again
  std::vector<std::string> back;  // rails that have a carrier again, however briefly they had none
  Deadline seen;                  // when this was seen
};

class UplinkWatch {
 public:
  UplinkWatch(const config::NodeConfig& config, const Deps& deps, NodeStatus& node_status)
      : config_(config), deps_(deps), node_status_(node_status) {}

  // Reads the carriers and stores them in the NodeStatus. A kernel that does not answer changes nothing: raild withdraws no
  // address while the carrier is not known.
  UplinkNews Look();
  bool Concerned(const std::vector<int>& links) const;

 private:
  struct Uplink {
    int index = 0;
    bool up = true;
    uint32_t losses = 0;  // how often the kernel has counted the carrier as lost
  };

  const config::NodeConfig& config_;
  const Deps deps_;
  NodeStatus& node_status_;
  std::map<std::string, Uplink> uplinks_;  // by rail
};

}  // namespace rail::engine
