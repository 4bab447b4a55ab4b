// The hw_counters of RDMA devices: what the NIC counts of queue pairs, congestion and loss.
//
// Use:      RAIL_ASSIGN(auto rdma, RdmaStats::Open());                  // of the calling thread's namespace, for good
//           RAIL_ASSIGN(auto counters, rdma.Of("mlx5_0"));
// Threads:  one at a time
// Owns:     its socket
// Source:   kernel include/uapi/rdma/rdma_netlink.h (RDMA_NLDEV_CMD_STAT_GET)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/error.h"
#include "lib/netlink/socket.h"

namespace rail::netlink {

struct RdmaCounter {
  std::string name;  // as the driver names it: "out_of_sequence"
  uint64_t value = 0;
};

class RdmaStats {
 public:
  // Errors: kUnsupported this kernel has no RDMA.
  static Result<RdmaStats> Open();

  // Of port 1. The kernel keeps a reading for 10 ms. Errors: kUnsupported, kNotFound.
  Result<std::vector<RdmaCounter>> Of(const std::string& device);

 private:
  explicit RdmaStats(Socket socket) : socket_(std::move(socket)) {}
  Status List();

  Socket socket_;
  std::map<std::string, uint32_t> indexes_;  // by device
};

// Decodes a message of the kernel; nothing when it is another message. Pure.
std::optional<std::vector<RdmaCounter>> DecodeRdmaCounters(std::string_view message);

}  // namespace rail::netlink
