// What of a configuration cannot work on this node.
//
// Use:      for (const std::string& problem : CheckNode(config, *netlink, sriov::Sysfs("/sys"))) ...
// Threads:  one at a time; the Netlink is the caller's
// Source:   README.md of this folder (what is looked at)
#pragma once

#include <string>
#include <vector>

#include "lib/config/node_config.h"
#include "lib/netlink/netlink.h"
#include "lib/sriov/sysfs.h"

namespace rail::preflight {

// Sentences, each of which begins with its key: "pf of rail0: there is no link ens1f0np0 ...", "ovs.db: ...". A rail has its name:
// its place in the file is not known here. Errors: the kernel does not answer.
Result<std::vector<std::string>> CheckNode(const config::NodeConfig& config, netlink::Netlink& netlink,
                                           const sriov::Sysfs& sysfs);

}  // namespace rail::preflight
