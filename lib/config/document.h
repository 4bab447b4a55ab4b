// What the readers of node.json share: the plain reader (node_config.cc) and those of the file for all nodes (cluster_file.h).
//
// Use:      for (const JsonError& problem : ProblemsOf(document)) ...    // "rails[0].mtu: must be ..."
// Threads:  pure functions
// Source:   README.md of this folder
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/strict_json.h"

namespace rail::config {

// What Parse would refuse in the plain document. Empty: Parse takes it.
std::vector<JsonError> ProblemsOf(const nlohmann::json& document);

}  // namespace rail::config
