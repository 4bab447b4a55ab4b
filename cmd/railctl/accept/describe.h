// What a pod has: its interfaces, and the RDMA devices that belong to them.
//
// Use:      RAIL_ASSIGN(const auto interfaces, ListInterfaces());
//           RAIL_ASSIGN(const auto devices, ListRdmaDevices("/sys", interfaces));
// Threads:  any, in the pod's network namespace
// Source:   getifaddrs(3), netdevice(7), Documentation/ABI/stable/sysfs-class-infiniband (gid_attrs/ndevs, gid_attrs/types, gids)
#pragma once

#include <string>
#include <vector>

#include "lib/base/error.h"
#include "rail/v1/accept.pb.h"

namespace rail::accept {

// All but lo, with their addresses that a router could know (none that is link-local). Errors: of getifaddrs(3).
Result<std::vector<v1::DescribeAgentResponse::Interface>> ListInterfaces();

// Port 1 of each device in class/infiniband of `sysfs`. A device that other pods see too may name their interface of the same name;
// only one whose GID is the interface's address has an index. Errors: of opendir(3), except where no device ever was.
Result<std::vector<v1::DescribeAgentResponse::RdmaDevice>> ListRdmaDevices(
    const std::string& sysfs, const std::vector<v1::DescribeAgentResponse::Interface>& interfaces);

}  // namespace rail::accept
