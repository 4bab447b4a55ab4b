// Which lines are missing from bgpd's running configuration for the front end, and which are there that no front end needs any more.
//
// Use:      RAIL_ASSIGN(auto lines, PlanFrontend(ParseRunningConfig(text), identity, frontend));   // then Vty::Configure
// Threads:  pure functions
// Source:   README.md of this folder ("The front end")
#pragma once

#include <string>
#include <vector>

#include "lib/base/error.h"
#include "lib/frr/base_config.h"
#include "lib/frr/bgp.h"
#include "lib/frr/running_config.h"

namespace rail::frr {

// A rail's name has no '_': so none of its names is one of these.
inline constexpr char kFrontendOwn[] =
    "railcni-frontend_own";  // the node's addresses: lists, and the map of its statements
inline constexpr char kFrontendAccept[] = "railcni-frontend_accept";  // lists: what may come in

// Errors: kTransient no instance; kInvalid another ASN, or a link's name that cannot be configured; kExists a neighbor or a `network`
// statement of somebody else is in the way.
Result<std::vector<std::string>> PlanFrontend(const RunningConfig& running, const Identity& identity,
                                              const Frontend& frontend);

}  // namespace rail::frr
