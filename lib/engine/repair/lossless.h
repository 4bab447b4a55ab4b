// Whether the uplinks treat RoCE as node.json wants them to ("lossless"), and makes them so with "manage_qos".
//
// Use:      LosslessRepair lossless(config, deps, node_status);
//           lossless.Look();       // at the start, when something has changed, and now and then: sysfs has no events
// Threads:  one; the NodeStatus may be shared
// Source:   lib/qos/README.md
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lib/engine/attach/verb_context.h"
#include "lib/engine/repair/node_status.h"
#include "lib/qos/manage.h"

namespace rail::engine {

// The uplink of a rail, wherever Linux tells. What cannot be read is in the answer.
qos::Seen LookAtQos(const Openers& openers, const config::Rail& rail);

class LosslessRepair {
 public:
  LosslessRepair(const config::NodeConfig& config, const Deps& deps, NodeStatus& node_status)
      : config_(config), deps_(deps), node_status_(node_status) {}

  // Gives back what is no longer to be managed, sets what is, and stores how each rail differs. What it cannot set, health says.
  // Returns whether something has changed that a view shows.
  bool Look();

 private:
  Status GiveBack();
  Status Manage(const config::Rail& rail);

  const config::NodeConfig& config_;
  const Deps deps_;
  NodeStatus& node_status_;
};

// Makes the uplinks of `before` again as they were. `done`: what that was, a sentence for each. `forget` is called for each that is right
// again. Errors: of the first that could not be given back; the others are.
Status GiveQosBack(const Openers& openers, const std::map<std::string, qos::Before>& before,
                   std::vector<std::string>& done, const std::function<Status(const std::string&)>& forget);

}  // namespace rail::engine
