// tenant-isolation: whose pod it is, said to the switch. Until this plugin has run a pod's frames go nowhere.
//
// Stands after ovs-provider in the chain. It has no keys of its own: who belongs together stands in node.json, and the
// pod's namespace comes from the runtime.
#pragma once

#include "lib/cni/plugin.h"
#include "lib/engine/verb_context.h"

namespace rail::tenant_isolation {

cni::Plugin MakePlugin(const engine::Deps& deps);

}  // namespace rail::tenant_isolation
