// bgp.asn and bgp.router_id of a node, where the file for all nodes says how to make them of the node.
//
// Use:      Derive(document, node, errors);     // "asn": {"base": 4200000000, "from": "node_ip"} becomes "asn": 4200002570
// Threads:  pure functions
// Source:   README.md of this folder ("One file for all nodes")
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lib/base/strict_json.h"
#include "lib/config/cluster_file.h"

namespace rail::config {

// Replaces both keys by what they are on `node`. What cannot be derived stays, and `errors` says why, with the key's path.
void Derive(nlohmann::json& document, const NodeFacts& node, JsonErrors& errors);

// Whether the document needs labels of the node for either key.
bool DerivesFromLabels(const nlohmann::json& document);

}  // namespace rail::config
