// Which devices the kubelet has given to which pod, and which it may give.
//
// Use:      RAIL_ASSIGN(const auto pods, ListPodDevices("/var/lib/kubelet/pod-resources/kubelet.sock", After(1s)));
// Threads:  any thread; waits for the kubelet
// Owns:     a connection for the time of the call
// Source:   v1/podresources.proto (kubelet, pkg/apis/podresources/v1)
#pragma once

#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/pcie/pairs.h"

namespace rail::kubelet {

// Devices of device plugins and of claims (DRA). A claim's device has its driver's name as the resource, and is there once for all containers
// of the pod; what the kubelet lists without a driver is left out.
// Errors: kNotFound there is no such socket; kTransient the kubelet does not answer in time; kPermission.
Result<std::vector<pcie::PodDevices>> ListPodDevices(const std::string& socket, Deadline until);
// Those of device plugins that are healthy, also where a pod has them. Errors: as above; kUnsupported the kubelet is too old for it.
Result<pcie::ResourceDevices> ListAllocatable(const std::string& socket, Deadline until);

}  // namespace rail::kubelet
