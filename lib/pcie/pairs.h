// Which GPU of a pod goes with which of its NICs, and whether another rail's NIC would be nearer.
//
// Use:      const auto gpus = GpusOfPods(allocations, machine);
//           for (const BadPair& bad : BadPairs(machine, gpus.at({"ns", "pod"}), {"0000:18:00.2"})) ...
// Threads:  pure functions
// Source:   README.md of this folder (what counts as bad, and why)
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/pcie/pcie.h"

namespace rail::pcie {

// What the kubelet has given to a pod (podresources.h of lib/kubelet).
struct PodDevices {
  struct Device {
    std::string resource;  // "nvidia.com/gpu"; of a claim: its driver, "gpu.nvidia.com"
    std::string id;        // "GPU-4d3f...", "0000:1b:00.0"; of a claim: "gpu-0", "0000-1b-00-0"
    bool operator==(const Device&) const = default;
  };
  std::string pod_namespace;
  std::string pod;
  std::vector<Device> devices;
};

// What the kubelet may give to pods: the ids of devices by resource.
using ResourceDevices = std::map<std::string, std::vector<std::string>>;

// The PCI address that a device's id begins with, as the kernel writes it: NVML's has eight digits of the domain, and either case; "-" and ":"
// begin a suffix. A driver of claims may write it as a label (PciAddress). "": none.
std::string PciAddressIn(std::string id);

using PodName = std::pair<std::string, std::string>;  // namespace, name

// The PCI addresses of each pod's GPUs: by UUID ("GPU-..."), also with the suffix of a replica where a GPU is shared ("::3", "-17"), by the
// UUID that old drivers give a MIG device ("MIG-GPU-.../1/0"), by the PCI address, in the kernel's or NVML's form, also with a suffix, or by
// the name that NVIDIA's DRA driver gives a whole GPU ("gpu-0"). What names no GPU of this machine (a MIG device with a name or UUID of its
// own) is left out.
std::map<PodName, std::vector<std::string>> GpusOfPods(const std::vector<PodDevices>& pods,
                                                       const Machine& machine);

// A GPU to which another rail's NIC is nearer than each NIC that its pod has.
struct BadPair {
  std::string gpu;    // PCI address
  std::string own;    // the pod's device that is nearest to it
  Relation now;       // how near
  const Nic* better;  // the nearest NIC of the machine
  Relation possible;  // how near it would be
};

// `devices`: PCI addresses of the pod's VFs; those that are of no NIC here say nothing. Of a pod without VFs: none.
std::vector<BadPair> BadPairs(const Machine& machine, const std::vector<std::string>& gpus,
                              const std::vector<std::string>& devices);

// GPUs without a NIC of a rail below their own switch. None where no rail has a NIC on PCIe.
std::vector<std::string> GpusWithoutNic(const Machine& machine);

}  // namespace rail::pcie
