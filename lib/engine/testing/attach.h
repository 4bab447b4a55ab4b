// An attachment as the chain makes it, without the plugins: for tests of what comes afterwards.
#pragma once

#include "lib/engine/testing/world.h"

namespace rail::engine::testing {

// All steps of an ADD with `address`. Errors: of the steps.
Result<state::Attachment> Attach(World& world, const PodSpec& pod, const std::string& address);

}  // namespace rail::engine::testing
