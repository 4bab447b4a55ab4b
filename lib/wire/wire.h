// The composition root that the plugins and the daemon share: which implementations are real.
//
// Use:      return wire::PluginMain(argc, argv, MakePlugin(wire::RealDeps()));
// Threads:  any thread
#pragma once

#include "lib/cni/plugin.h"
#include "lib/engine/verb_context.h"

namespace rail::wire {

// Configuration, record, Open vSwitch, FRR, kernel and IPAM of this node.
engine::Deps RealDeps();
engine::Openers RealOpeners(const config::NodeConfig& config);

// main of a plugin: `--check-config` reads a configuration on stdin and says what is wrong with it; without arguments the
// CNI protocol.
int PluginMain(int argc, char** argv, const cni::Plugin& plugin);

}  // namespace rail::wire
