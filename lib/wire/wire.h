// The composition root that the plugins and raild share: it chooses the real implementations.
//
// Use:      return wire::PluginMain(argc, argv, MakePlugin(wire::RealDeps()));
// Threads:  any thread
#pragma once

#include "lib/cni/plugin.h"
#include "lib/engine/attach/verb_context.h"

namespace rail::wire {

// Configuration, record, Open vSwitch, FRR, kernel and IPAM of this node. What raild records of the node before it changes it (Deps::origin)
// is not among them.
engine::Deps RealDeps();
engine::Openers RealOpeners(const config::NodeConfig& config);

// main of a plugin. With `--check-config` it reads a configuration on stdin and says what is wrong with it.
// Without arguments it speaks the CNI protocol.
int PluginMain(int argc, char** argv, const cni::Plugin& plugin);

}  // namespace rail::wire
