// RDMA devices of one network namespace.
//
// Use:      RAIL_ASSIGN(auto rdma, KernelRdma::Open());              // of the calling thread's namespace, for good
//           RAIL_ASSIGN(RdmaNetns mode, rdma->NetnsMode());
//           RAIL_TRY(rdma->Move(device.index, pod.fd()));            // exclusive mode only
// Threads:  one at a time
// Owns:     its socket, which stays in the namespace in which it was opened
// Source:   kernel include/uapi/rdma/rdma_netlink.h, drivers/infiniband/core/{nldev,device}.c; rdma-system(8), rdma-dev(8)
// Errors of every function: kNotFound no such device in this namespace; kUnsupported no RDMA in this kernel, or not possible in
//         this mode; kExists the name is taken in some namespace (the kernel has one list of names); kPermission.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/error.h"

namespace rail::netlink {

// kShared: every namespace sees every device. kExclusive: a device is in one namespace.
enum class RdmaNetns { kShared, kExclusive };

struct RdmaDevice {
  uint32_t index = 0;  // stays the same when the device is renamed or moved
  std::string name;    // "mlx5_4"
};

class Rdma {
 public:
  virtual ~Rdma() = default;
  virtual Result<RdmaNetns> NetnsMode() = 0;
  virtual Result<std::vector<RdmaDevice>> List() = 0;
  virtual Status Rename(uint32_t device, std::string_view name) = 0;
  // Moves the device to the namespace of `netns_fd`, under the same name.
  virtual Status Move(uint32_t device, int netns_fd) = 0;
};

}  // namespace rail::netlink
