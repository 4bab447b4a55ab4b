// ovs-provider: the pod's device, its representor on the rail's bridge, its addresses, and what the switch admits from it.
//
// Stands first in the chain (then it plumbs the device and calls IPAM) or after ovs-cni (then it adopts the port and the
// addresses of prevResult). README.md of this folder describes its configuration.
#pragma once

#include <string>

#include "lib/cni/plugin.h"
#include "lib/engine/attach/verb_context.h"

namespace rail::ovs_provider {

cni::Plugin MakePlugin(const engine::Deps& deps);

// Its verbs, a file for each.
cni::Outcome<std::string> Add(const engine::Deps& deps, const cni::Request& request);
cni::Outcome<void> Del(const engine::Deps& deps, const cni::Request& request);
cni::Outcome<void> Check(const engine::Deps& deps, const cni::Request& request);

}  // namespace rail::ovs_provider
