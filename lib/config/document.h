// What the readers of node.json share: the plain reader (parse.cc) and those of the file for all nodes (cluster_file.h).
//
// Use:      for (const std::string& problem : ProblemsOf(document)) ...    // "rails[0].mtu: must be ..."
// Threads:  pure functions
// Source:   README.md of this folder
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rail::config {

// What Parse would refuse in the plain document, each with its path: "rails[0].mtu: must be ...". Empty: Parse takes it.
std::vector<std::string> ProblemsOf(const nlohmann::json& document);

}  // namespace rail::config
