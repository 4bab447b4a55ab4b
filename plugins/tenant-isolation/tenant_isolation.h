// tenant-isolation: tells the switch the tenant of the pod. Until this plugin has run, a pod's frames go nowhere.
//
// Stands after ovs-provider in the chain. It has no keys of its own: node.json says which namespaces form a tenant, and the
// runtime says the pod's namespace.
#pragma once

#include "lib/cni/plugin.h"
#include "lib/engine/attach/verb_context.h"

namespace rail::tenant_isolation {

cni::Plugin MakePlugin(const engine::Deps& deps);

}  // namespace rail::tenant_isolation
