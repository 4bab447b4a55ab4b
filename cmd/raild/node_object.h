// The Node object of this node, for a configuration that depends on the node's labels: `raild --print-node-object`.
//
// Use:      RAIL_ASSIGN(std::string json, ReadNodeObject(paths));
// Threads:  any
#pragma once

#include <string>

#include "lib/base/error.h"
#include "lib/config/node_config.h"

namespace rail::raild {

// The name of this node in the cluster, from the environment. Errors: kInvalid NODE_NAME is not set, or cannot be a name.
Result<std::string> NodeName();

// Asks the API server of the cluster in whose pod this runs, or the one that node.json names if there is one already.
// Errors: of NodeName; there is no API server; it does not answer, or refuses.
Result<std::string> ReadNodeObject(const config::Paths& paths);

}  // namespace rail::raild
