// Reads the keys of planes of a rail of node.json (parse.cc has the rest of the file).
//
// Use:      Place place = ParsePlace(object, errors);
// Threads:  pure functions
#pragma once

#include <vector>

#include "lib/base/strict_json.h"
#include "lib/config/node_config.h"

namespace rail::config {

Place ParsePlace(JsonObject& rail, JsonErrors& errors);

// Two uplinks that say to be one plane of one rail. `rails`: in the order of the file.
void CheckPlaces(const std::vector<Rail>& rails, JsonErrors& errors);

}  // namespace rail::config
