// Whether each rail's uplink has a carrier. A rail without one is down: its addresses are withdrawn until it is back.
//
// Use:      UplinkWatch watch(config, deps, node_status);
//           if (const UplinkNews news = watch.Look(); news.changed) ...    // announcements have to follow
//           if (watch.Concerned(changes.links)) ...    // an event of one of the uplinks
// Threads:  one; the NodeStatus may be shared
// Source:   README.md of this folder ("A rail without a carrier")
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/engine/node_status.h"
#include "lib/engine/verb_context.h"

namespace rail::engine {

// What is wrong with an uplink, as a sentence; "" nothing.
std::string UplinkProblem(const config::Rail& rail, const Result<netlink::Link>& link);

struct UplinkNews {
  bool changed = false;           // another rail is down, or one is up again
  std::vector<std::string> back;  // rails that have a carrier again, however short it was away
  Deadline seen;                  // when
};

class UplinkWatch {
 public:
  UplinkWatch(const config::NodeConfig& config, const Deps& deps, NodeStatus& node_status)
      : config_(config), deps_(deps), node_status_(node_status) {}

  // Tells the NodeStatus. A kernel that does not answer changes nothing: nobody is withdrawn for what is not known.
  UplinkNews Look();
  bool Concerned(const std::vector<int>& links) const;

 private:
  struct Uplink {
    int index = 0;
    bool up = true;
    uint32_t losses = 0;  // of its carrier, as the kernel counts them
  };

  const config::NodeConfig& config_;
  const Deps deps_;
  NodeStatus& node_status_;
  std::map<std::string, Uplink> uplinks_;  // by rail
};

}  // namespace rail::engine
