// A rail's devices as ResourceSlices show them, and what a claim's status says of one that a pod has.
//
// Use:      RAIL_ASSIGN(kubernetes::Device shown, ResourceOf(device, rail, facts, sysfs));
// Threads:  any; they read sysfs
// Source:   README.md of lib/kubelet ("What a claim can ask for"); KEP-6072 (numaNode); Multus, "DRA integration" (deviceID, resourceName)
#pragma once

#include <string>
#include <vector>

#include "lib/engine/view.h"
#include "lib/kubelet/pool.h"
#include "lib/kubernetes/resource_claims.h"
#include "lib/kubernetes/resource_slices.h"
#include "lib/kubernetes/slice_publisher.h"
#include "lib/sriov/sysfs.h"

namespace rail::raild {

inline constexpr const char* kDriver = "rail.railcni.io";
inline constexpr const char* kUnhealthy = "rail.railcni.io/unhealthy";  // the key of the taint; NoSchedule

// `resource`: the device's name as an extended resource. Errors: as DeviceNameOf.
Result<kubernetes::Device> ResourceOf(const kubelet::Device& device, const engine::RailView& rail,
                                      const std::string& resource, const std::string& unit,
                                      const sriov::Sysfs& sysfs);

// Whether the containers of a claim's request get the libraries' files; the last that says so counts. Parameters of a class or claim:
//   {"apiVersion": "rail.railcni.io/v1alpha1", "kind": "RailConfig", "libraries": false}
// Errors: kInvalid, with the key.
Result<bool> WantsLibraries(const std::vector<kubernetes::ClaimConfig>& configs, const std::string& request);
// Tells of those drivers that publish a device of the rail, which has the devices `ids`.
void SetOtherOwners(v1::Rail& rail, const std::vector<std::string>& ids,
                    const kubernetes::OtherOwners& others);

std::vector<IpPrefix> PrefixesOf(const state::Attachment& attachment);

// Of a device of pool `node` that the pod of `attachment` has.
kubernetes::DeviceStatus StatusOf(const state::Attachment& attachment, const std::string& node,
                                  const std::string& device);

}  // namespace rail::raild
