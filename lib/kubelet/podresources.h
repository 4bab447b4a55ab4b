// Which devices the kubelet has given to which pod.
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

// Devices of device plugins alone: a claim (DRA) names its devices by its driver's words.
// Errors: kNotFound there is no such socket; kTransient the kubelet does not answer in time; kPermission.
Result<std::vector<pcie::PodDevices>> ListPodDevices(const std::string& socket, Deadline until);

}  // namespace rail::kubelet
