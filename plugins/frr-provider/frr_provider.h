// frr-provider: announces the pod's addresses as /32 and /128 over BGP, on the rail of its device.
//
// Stands after ovs-provider and tenant-isolation in the chain. README.md of this folder describes its configuration.
#pragma once

#include "lib/cni/plugin.h"
#include "lib/engine/attach/verb_context.h"

namespace rail::frr_provider {

cni::Plugin MakePlugin(const engine::Deps& deps);

}  // namespace rail::frr_provider
