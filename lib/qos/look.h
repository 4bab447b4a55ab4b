// How a rail's uplink treats RoCE, wherever Linux tells: dcbnl, sysfs, configfs.
//
// Use:      const Seen seen = Look("ens1f0np0", *dcb, sriov::Sysfs("/sys"));
// Threads:  pure but for its reads
// Source:   README.md of this folder
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/error.h"
#include "lib/netlink/dcb.h"
#include "lib/sriov/sysfs.h"

namespace rail::qos {

// Congestion control (DCQCN) of one priority. Nothing: the driver has no such file.
struct Ecn {
  std::optional<bool> notifies;  // notification point: answers marked packets with CNPs
  std::optional<bool> reacts;    // reaction point: slows down for a CNP
};

// The type of service that a device gives to connections of rdma_cm.
struct DeviceTos {
  std::string device;  // "mlx5_0"
  std::optional<uint8_t>
      cm;  // default_roce_tos; nothing: nobody has made its folder since the boot, or it is not there
  std::optional<uint8_t> all;  // the driver's own for all queue pairs; nothing: none
};

struct Seen {
  Result<netlink::DcbState> dcb = netlink::DcbState();
  std::map<uint8_t, Ecn> ecn;  // by priority 0..7
  bool has_configfs = false;   // configfs has rdma_cm
  std::vector<DeviceTos> tos;  // RDMA devices of the uplink and of its VFs that are on the host
};

Seen Look(const std::string& uplink, netlink::Dcb& dcb, const sriov::Sysfs& sysfs);

}  // namespace rail::qos
