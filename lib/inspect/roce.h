// The counters of a NIC's RDMA device: congestion (CNP, ECN marks), packets out of sequence, retries. Its driver names them.
//
// Use:      for (const RoceCounter& counter : ReadRoceCounters("/sys", "p0")) ...
// Threads:  any thread; a read may wait for the NIC's firmware
// Source:   Documentation/ABI/stable/sysfs-class-infiniband of the kernel: /sys/class/infiniband/<device>/ports/<port>/hw_counters
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rail::inspect {

struct RoceCounter {
  std::string name;  // "np_cnp_sent", "out_of_sequence", ...
  uint64_t value = 0;
};

// The counters of the RDMA device of link `uplink`, ordered by name, at most kMostRoceCounters. None: the link has no RDMA device
// here, or its driver counts nothing.
inline constexpr size_t kMostRoceCounters = 100;
std::vector<RoceCounter> ReadRoceCounters(const std::string& sysfs, const std::string& uplink);

}  // namespace rail::inspect
