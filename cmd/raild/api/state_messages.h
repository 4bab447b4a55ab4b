// Converts a node's view to rail.v1.NodeState. No gRPC, no I/O.
//
// Use:      const v1::NodeState state = StateOf(*views.Current(), Clock::now(), UnixMs());
// Threads:  pure functions
#pragma once

#include <cstdint>

#include "lib/base/clock.h"
#include "lib/engine/view.h"
#include "rail/v1/state.pb.h"

namespace rail::raild {

// `now` and `now_ms` (Unix time) are one moment.
v1::NodeState StateOf(const engine::NodeView& view, Clock::time_point now, int64_t now_ms);

}  // namespace rail::raild
