// What the pod's author is told about its device: the DeviceInfo file that Multus puts into the network-status.
//
// Use:      RAIL_ASSIGN(const std::string path, DeviceInfoFile(request));         // before anything is done
//           if (!path.empty()) status = WriteDeviceInfo(path, {.address = "0000:03:00.2", .representor = "eth3"});
// Threads:  any thread
// Owns:     nothing: the file is Multus', which removes it after DEL
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

// Where the runtime wants it; "" nowhere. Errors: code 7, a path that no runtime gives: it must be an absolute one into a folder
// .../k8s.cni.cncf.io/devinfo/cni, without "." and "..".
Outcome<std::string> DeviceInfoFile(const Request& request);

// Puts a new file in the place of the old one, in one step. What the device plugin wrote there about the device and is not
// known here stays. Errors: what the kernel says, naming the path.
Status WriteDeviceInfo(const std::string& path, const PciDevice& device);

}  // namespace rail::cni
