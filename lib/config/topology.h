// The section "topology" of node.json: what this node is called in the fabric, and which labels say so to schedulers.
//
// Use:      config.topology.labels
// Threads:  values
// Source:   README.md of this folder
#pragma once

#include <string>

namespace rail::config {

struct Topology {
  std::string unit;     // the scalable unit's name; "": raild makes one of its leaves
  bool labels = false;  // raild keeps labels of the Node object right
  std::string unit_label = "railcni.io/su";
  std::string leaf_label = "railcni.io/leaf-";  // the rail's name follows
  // "fabric.topograph.run/tier-": the level follows, 0 the nearest. Written only where nobody else writes it. "": never.
  std::string tier_labels;
};

}  // namespace rail::config
