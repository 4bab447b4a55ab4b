// The section "topology" of node.json: what this node's place in the fabric is called.
//
// Use:      config.topology.unit
// Threads:  values
// Source:   README.md of this folder
#pragma once

#include <string>

namespace rail::config {

struct Topology {
  std::string unit;  // the scalable unit's name; "": raild makes one of its leaves
};

}  // namespace rail::config
