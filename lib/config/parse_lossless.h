// Reads the sections "lossless" of node.json: the node's, and a rail's, whose keys come before the node's.
//
// Use:      rail.lossless = ParseLossless(root.Object("lossless"), object.Object("lossless"), path, errors);
// Threads:  pure functions
// Source:   README.md of this folder
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "lib/base/strict_json.h"
#include "lib/config/lossless.h"

namespace rail::config {

// `node`, `rail`: nullptr, the section is not there; without both: nothing. `path`: that of the rail's section.
std::optional<Lossless> ParseLossless(const nlohmann::json* node, const nlohmann::json* rail,
                                      const std::string& path, JsonErrors& errors);

}  // namespace rail::config
