// The hw_counters of RDMA devices: what the NIC counts of queue pairs, congestion and loss.
//
// Use:      RAIL_ASSIGN(auto rdma, RdmaStats::Open());                  // of the calling thread's namespace, for good
//           RAIL_ASSIGN(auto counters, rdma.Of("mlx5_0"));
//           RAIL_ASSIGN(auto pods, RdmaOfPod("/run/netns/cni-1234", identity, "net1", device));
// Threads:  one at a time; RdmaOfPod any
// Owns:     its socket
// Source:   kernel include/uapi/rdma/rdma_netlink.h (RDMA_NLDEV_CMD_STAT_GET, RDMA_NLDEV_CMD_PORT_GET)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/error.h"
#include "lib/netlink/netns.h"
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
  // The device whose port 1 is that link of this namespace. Asks first for `likely`, which is one that it may be, or "".
  // Errors: kNotFound.
  Result<std::string> DeviceOf(const std::string& link, const std::string& likely);

 private:
  explicit RdmaStats(Socket socket) : socket_(std::move(socket)) {}
  Status List();
  bool IsOf(uint32_t device, const std::string& link);

  Socket socket_;
  std::map<std::string, uint32_t> indexes_;  // by device
};

// Those of the device of `link` in the namespace at `path`, which must be that of `identity`: another pod may have the path now. Holds the
// namespace for no longer than this takes. `device`: which it is, for the next time; "" at first. Errors: kNotFound; of RdmaStats.
Result<std::vector<RdmaCounter>> RdmaOfPod(const std::string& path, const netns::Identity& identity,
                                           const std::string& link, std::string& device);

// These functions decode a message of the kernel; nothing when it is another message. Pure.
std::optional<std::vector<RdmaCounter>> DecodeRdmaCounters(std::string_view message);
struct RdmaPort {
  uint32_t port = 0;
  std::string link;  // "": in another namespace, or none
};
std::optional<RdmaPort> DecodeRdmaPort(std::string_view message);

}  // namespace rail::netlink
