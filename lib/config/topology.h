// The section "topology" of node.json: what this node's place in the fabric is called, and which labels of its Node object say it.
//
// Use:      config.topology.unit;  if (config.topology.labels) ...
// Threads:  values
// Source:   README.md of this folder
#pragma once

#include <optional>
#include <string>

namespace rail::config {

// Keys of labels. The last two are beginnings: the rail's name or the tier's number follows.
struct TopologyLabels {
  std::string unit = "railcni.io/su";
  std::string leaf = "railcni.io/leaf-";
  std::string tier;  // "": none, as "fabric.topograph.run/tier-" is Topograph's where that runs
  bool operator==(const TopologyLabels&) const = default;
};

struct Topology {
  std::string unit;                      // the scalable unit's name; "": raild makes one of its leaves
  std::optional<TopologyLabels> labels;  // nothing: raild writes no label
};

}  // namespace rail::config
