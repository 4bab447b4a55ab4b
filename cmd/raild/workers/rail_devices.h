// What a rail has for pods: its devices as the kubelet is to know them, and what a container gets with some of them.
//
// Use:      const std::vector<std::string> ids = DevicesOf(rail, sysfs);
//           pool.See(SeeDevices(ids, {.problem = ..., .view = *view, ...}, sysfs), Clock::now());
// Threads:  any; they read sysfs
// Source:   lib/kubelet/README.md; the names of the variables are those of sriov-network-device-plugin
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/engine/view.h"
#include "lib/kubelet/plugin.h"
#include "lib/sriov/sysfs.h"

namespace rail::raild {

// Those that node.json lists, and all VFs of the rail's NICs, by PCI address. Each once.
std::vector<std::string> DevicesOf(const config::Rail& rail, const sriov::Sysfs& sysfs);

using PodName = std::pair<std::string, std::string>;  // namespace, name

struct DeviceFacts {
  std::string problem;  // of the rail; "": it works
  const engine::NodeView& view;
  // To which pod the kubelet has given a device of the rail, by id. Nothing: the kubelet does not say.
  std::optional<std::map<std::string, PodName>> given;
  // What an ADD would say of a device that no pod has.
  std::function<Status(const std::string& id)> can_attach;
};
std::vector<kubelet::Seen> SeeDevices(const std::vector<std::string>& ids, const DeviceFacts& facts,
                                      const sriov::Sysfs& sysfs);

// As Answers::prefer of lib/kubelet: devices that no pod on record has come first.
std::vector<std::string> PreferFree(const engine::NodeView& view, const std::vector<std::string>& available,
                                    const std::vector<std::string>& must_include, size_t size);

// PCIDEVICE_NVIDIA_COM_RAIL0=0000:3b:00.2,0000:3b:00.3, and the files of their RDMA devices.
kubelet::Allocation AllocationOf(const std::string& resource, const std::vector<std::string>& ids,
                                 const sriov::Sysfs& sysfs);

// Where a container finds the files of its libraries, which are in `folder` on the node: /etc/railcni/rail0, and the variables that lead there. A
// variable of the pod's own goes before them.
void AddLibraries(kubelet::Allocation& allocation, const std::string& rail, const std::string& folder);

// Writes the DeviceInfo file of each device for Multus, which shows it in the pod's network-status.
//   folder  made if it is missing
// Errors: as WriteWhole and MakeFolder. May be repeated.
// Source: k8snetworkplumbingwg/device-info-spec SPEC.md 1.1.0, "Device Plugin"
Status WriteDeviceInfos(const std::string& folder, const std::string& resource,
                        const std::vector<std::string>& ids, const sriov::Sysfs& sysfs);

}  // namespace rail::raild
