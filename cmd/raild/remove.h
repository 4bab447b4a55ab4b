// `raild --remove`: gives the node back, then removes RailCNI's own files.
//
// Use:      return Remove(wire::RealDeps(), config::Paths::FromEnvironment(), force);
// Threads:  one
// Source:   README.md of this folder ("Removal")
#pragma once

#include "lib/config/node_config.h"
#include "lib/engine/attach/verb_context.h"

namespace rail::raild {

// The exit status.
inline constexpr int kRemoved = 0;  // nothing of RailCNI is on the node any more
inline constexpr int kRefused = 1;  // nothing was changed: pods live, raild runs, or node.json cannot be read
inline constexpr int kSomeIsLeft = 3;  // what is left is told, and can be tried again

// Says on stdout what it has done and what is left.
int Remove(engine::Deps deps, const config::Paths& paths, bool force);

}  // namespace rail::raild
