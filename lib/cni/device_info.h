// Writes the DeviceInfo file, from which Multus shows the pod's author the device, in the network-status.
//
// Use:      RAIL_ASSIGN(const std::string path, DeviceInfoFile(request));         // before anything is done
//           if (!path.empty()) status = WriteDeviceInfo(path, {.address = "0000:03:00.2", .representor = "eth3"});
// Threads:  any thread
// Owns:     nothing: the file belongs to Multus, which removes it after DEL
// Source:   k8snetworkplumbingwg/device-info-spec SPEC.md 1.1.0; Multus gives the path as runtimeConfig.CNIDeviceInfoFile
//           when the capability of that name is declared
#pragma once

#include <string>

#include "lib/base/error.h"
#include "lib/cni/error.h"
#include "lib/cni/request.h"

namespace rail::cni {

struct PciDevice {
  std::string address;      // 0000:03:00.2
  std::string pf;           // PCI address of its PF; "" unknown
  std::string rdma;         // RDMA device; "" unknown
  std::string representor;  // "" none
};

// The path that the runtime asks for; "" none. Errors: code 7 the path is not absolute, its folder is not
// .../k8s.cni.cncf.io/devinfo/cni, or it contains "." or "..": no runtime gives such a path.
Outcome<std::string> DeviceInfoFile(const Request& request);

// Replaces the file in one step. Keeps what the device plugin wrote there about the same device, except what `device` says
// itself. Errors: those of the kernel; each names the path.
Status WriteDeviceInfo(const std::string& path, const PciDevice& device);

}  // namespace rail::cni
