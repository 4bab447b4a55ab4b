// What raild does with configurations besides running by one: the file for all nodes made into each node's own, and a
// node's own file held against the node.
//
// Use:      return ResolveConfig(flags, find_uplink);       // raild --resolve-config FILE ...
//           return CheckNode(flags.check_node, *netlink, paths.sysfs);
// Threads:  one
// Source:   README.md of this folder ("Configurations"), lib/config, lib/preflight
#pragma once

#include <string>

#include "cmd/raild/flags.h"
#include "lib/config/cluster_file.h"
#include "lib/netlink/netlink.h"

namespace rail::raild {

// Exit status of --resolve-config without --node-object, where the file cannot be resolved without the node's labels.
inline constexpr int kNeedsLabels = 3;

// Prints a node's plain file, or a line for each node. The exit status: 0 right, 1 wrong, kNeedsLabels.
int ResolveConfig(const Flags& flags, const config::FindUplink& find_uplink);

// Prints what is wrong on this node, a line each, as errors. The exit status: 0 nothing, 1 something.
int CheckNode(const std::string& file, netlink::Netlink& netlink, const std::string& sysfs);

}  // namespace rail::raild
