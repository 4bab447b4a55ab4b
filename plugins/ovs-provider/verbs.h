// ovs-provider's verbs, a file for each, and what they share.
#pragma once

#include <vector>

#include "lib/cni/plugin.h"
#include "lib/cni/result.h"
#include "lib/engine/attach/verb_context.h"
#include "lib/podnet/podnet.h"

namespace rail::ovs_provider {

cni::Outcome<std::string> Add(const engine::Deps& deps, const cni::Request& request);
cni::Outcome<void> Del(const engine::Deps& deps, const cni::Request& request);
cni::Outcome<void> Check(const engine::Deps& deps, const cni::Request& request);

}  // namespace rail::ovs_provider
