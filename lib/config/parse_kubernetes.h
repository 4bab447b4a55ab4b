// Reads the section "kubernetes" of node.json.
//
// Use:      ParseKubernetes(root.Object("kubernetes"), node, errors);   // after "tenancy"
// Threads:  pure functions
// Source:   README.md of this folder; label keys: Kubernetes, "Labels and Selectors", syntax
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "lib/base/strict_json.h"
#include "lib/config/node_config.h"

namespace rail::config {

// nullptr: the section is not there, and raild never talks to an API server.
void ParseKubernetes(const nlohmann::json* value, NodeConfig& node, JsonErrors& errors);

// The value of one: 1 to 63 of A-Z, a-z, 0-9, '-', '_' and '.', a letter or digit at either end.
bool IsLabelValue(std::string_view text);
// A name as above, or a DNS subdomain, '/', and a name.
bool IsLabelKey(std::string_view text);

}  // namespace rail::config
