// Reads the section "bursts" of node.json.
//
// Use:      ParseBursts(root.Object("bursts"), node.bursts, errors);
// Threads:  pure functions
// Source:   README.md of this folder
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lib/base/strict_json.h"
#include "lib/config/bursts.h"

namespace rail::config {

// nullptr: the section is not there, and raild looks for no bursts.
void ParseBursts(const nlohmann::json* value, Bursts& bursts, JsonErrors& errors);

}  // namespace rail::config
