// What comes before raild changes a bridge and its uplink: whether it may, and the record of what they were.
//
// Use:      RAIL_TRY(BeforeFirstChange(connections, rail, deps.origin.get()));
//           RAIL_ASSIGN(bridge, db->EnsureBridge(SpecOf(config, rail, pf.mac), deadline));
// Threads:  one at a time
// Source:   README.md of this folder ("What was there before")
#pragma once

#include "lib/config/node_config.h"
#include "lib/engine/attach/connections.h"

namespace rail::engine {

class Origin;  // origin.h

// The bridge of a rail, as raild makes it. `mac`: the uplink's.
ovs::BridgeSpec SpecOf(const config::NodeConfig& config, const config::Rail& rail, const MacAddress& mac);

// Errors: kExists others use the bridge, and RailCNI would take their rules or their traffic from them; of the connections; of the
// record.
Status BeforeFirstChange(Connections& connections, const config::Rail& rail, Origin* origin);

// How many rules of the bridge are not RailCNI's. Does not count the one rule of a bridge that nobody has given any.
Result<uint64_t> RulesOfOthers(Connections& connections, const std::string& bridge);

}  // namespace rail::engine
