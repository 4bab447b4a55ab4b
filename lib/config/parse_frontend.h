// Reads the section "frontend" of node.json.
//
// Use:      ParseFrontend(root.Object("frontend"), node, errors);   // after "rails" and "bgp"
// Threads:  pure functions
// Source:   README.md of this folder ("The front end")
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lib/base/strict_json.h"
#include "lib/config/node_config.h"

namespace rail::config {

// nullptr: the section is not there, and raild has nothing to do with the node's management links.
void ParseFrontend(const nlohmann::json* value, NodeConfig& node, JsonErrors& errors);

}  // namespace rail::config
