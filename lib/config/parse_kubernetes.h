// Reads the section "kubernetes" of node.json.
//
// Use:      ParseKubernetes(root.Object("kubernetes"), node, errors);   // after "tenancy"
// Threads:  pure functions
// Source:   README.md of this folder; label keys: Kubernetes, "Labels and Selectors", syntax
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lib/base/strict_json.h"
#include "lib/config/node_config.h"

namespace rail::config {

// nullptr: the section is not there, and raild never talks to an API server.
void ParseKubernetes(const nlohmann::json* value, NodeConfig& node, JsonErrors& errors);

}  // namespace rail::config
