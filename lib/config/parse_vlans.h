// Reads tenancy.vlans of node.json.
//
// Use:      ParseVlans(tenancy_object, tenancy, errors);   // after "mode" and "tenants"
//           CheckVlans(node, errors);                      // after "kubernetes"
//           CheckVrf(node, errors);                        // after "bgp"
// Threads:  pure functions
// Source:   README.md of this folder
#pragma once

#include "lib/base/strict_json.h"
#include "lib/config/node_config.h"

namespace rail::config {

// The key "vlans" of `object`, which is "tenancy".
void ParseVlans(JsonObject& object, Tenancy& tenancy, JsonErrors& errors);

// No tenant of the file without a VLAN. Without kubernetes.tenants, no VLAN without a tenant either: a name that was mistyped.
void CheckVlans(const NodeConfig& node, JsonErrors& errors);

// Mode `vrf` needs a bgpd that raild configures.
void CheckVrf(const NodeConfig& node, JsonErrors& errors);

}  // namespace rail::config
