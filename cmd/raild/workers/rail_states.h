// What people and schedulers are told of each rail.
//
// Use:      const std::vector<kubernetes::RailState> rails = RailStates(view);   // by index; problem "" where a rail works
// Threads:  pure function
#pragma once

#include <vector>

#include "lib/engine/view.h"
#include "lib/kubernetes/report.h"

namespace rail::raild {

// The nearest cause alone: a carrier before the bridge, the bridge before its session.
std::vector<kubernetes::RailState> RailStates(const engine::NodeView& view);

}  // namespace rail::raild
