// What the other ends of the rails' uplinks say of themselves by LLDP, for as long as they say that it holds.
//
// Use:      NeighbourWatch neighbours(config, node_status);
//           neighbours.Look(loop);      // at the start, and whenever a link may have changed
// Threads:  the one of `loop`
// Owns:     a socket for each uplink; a link that comes, or comes anew, gets another
// Source:   lib/lldp/README.md
#pragma once

#include <map>
#include <optional>
#include <string>

#include "lib/engine/repair/node_status.h"
#include "lib/event/loop.h"
#include "lib/lldp/listener.h"

namespace rail::raild {

class NeighbourWatch {
 public:
  NeighbourWatch(const config::NodeConfig& config, engine::NodeStatus& node_status)
      : config_(config), node_status_(node_status) {}

  void Look(event::Loop& loop);

 private:
  struct Uplink {
    std::optional<lldp::Listener> listener;
    event::TimerId expires = 0;
    std::string problem;  // as it was logged last
  };

  void Open(event::Loop& loop, const config::Rail& rail, Uplink& uplink);
  void Close(event::Loop& loop, Uplink& uplink);
  void Hear(event::Loop& loop, const std::string& rail, Uplink& uplink);
  void Forget(event::Loop& loop, const std::string& rail, Uplink& uplink);

  const config::NodeConfig& config_;
  engine::NodeStatus& node_status_;
  std::map<std::string, Uplink> uplinks_;  // by rail
};

}  // namespace rail::raild
