// What pods have asked for of each rail: the devices that the kubelet has given them, and the interfaces that Multus has.
//
// Use:      for (const Request& one : RequestsOnRails(pods, machine, view)) if (one.devices.size() > one.interfaces) ...
// Threads:  pure functions
// Source:   README.md of this folder ("Resources and networks")
#pragma once

#include <string>
#include <vector>

#include "lib/engine/view.h"
#include "lib/pcie/pairs.h"

namespace rail::inspect {

// Of one pod on one rail.
struct Request {
  std::string pod_namespace;
  std::string pod;
  std::string rail;
  std::string resource;  // "nvidia.com/rail0"; of a claim: its driver; "": the kubelet has given it none
  std::vector<std::string>
      devices;            // by their ids: VFs of the rail's uplink, or devices that node.json names
  size_t interfaces = 0;  // attachments, also those that an ADD is making
};

// Of the pods that the kubelet lists, those with a device or an interface of a rail; by namespace, pod and rail. A device counts by what it is,
// whatever its resource is called.
std::vector<Request> RequestsOnRails(const std::vector<pcie::PodDevices>& pods, const pcie::Machine& machine,
                                     const engine::NodeView& view);

// "the kubelet has given it nvidia.com/rail0 (0000:18:00.2), and it has no interface on rail0"; "" it has one for each device.
std::string WithoutNetwork(const Request& request);
// What to do then.
std::string NetworkRemedy(const Request& request);

}  // namespace rail::inspect
