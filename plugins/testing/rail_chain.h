// The three plugins in their order, on a World.
#pragma once

#include "lib/engine/testing/chain.h"
#include "plugins/frr-provider/frr_provider.h"
#include "plugins/ovs-provider/ovs_provider.h"
#include "plugins/tenant-isolation/tenant_isolation.h"

namespace rail::testing {

inline engine::testing::Chain RailChain(engine::testing::World& world) {
  return engine::testing::Chain({ovs_provider::MakePlugin(world.deps()),
                                 tenant_isolation::MakePlugin(world.deps()),
                                 frr_provider::MakePlugin(world.deps())});
}

}  // namespace rail::testing
