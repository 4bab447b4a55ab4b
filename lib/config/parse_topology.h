// Reads the section "topology" of node.json.
//
// Use:      ParseTopology(root.Object("topology"), node.topology, errors);
// Threads:  pure functions
// Source:   README.md of this folder
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lib/base/strict_json.h"
#include "lib/config/topology.h"

namespace rail::config {

// nullptr: the section is not there.
void ParseTopology(const nlohmann::json* value, Topology& topology, JsonErrors& errors);

}  // namespace rail::config
