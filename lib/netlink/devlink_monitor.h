// Reports that rates or ports of some NIC have changed, whoever has changed them. The caller asks Rates and Devlink for the new state.
//
// Use:      RAIL_ASSIGN(auto monitor, DevlinkMonitor::Open());      // of the calling thread's namespace, for good
//           ... monitor->fd() is readable ...
//           RAIL_ASSIGN(DevlinkChanges changes, monitor->Receive());
// Threads:  one at a time
// Owns:     its socket
// Source:   kernel include/uapi/linux/devlink.h, multicast group "config"
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "lib/base/error.h"
#include "lib/base/fd.h"

namespace rail::netlink {

struct DevlinkChanges {
  bool rates = false;
  bool ports = false;    // also: a NIC has come or gone
  bool overrun = false;  // changes were lost: read everything again
};

class DevlinkMonitor {
 public:
  // Errors: kUnsupported this kernel has no devlink; kPermission, kTransient.
  static Result<std::unique_ptr<DevlinkMonitor>> Open();

  int fd() const { return fd_.get(); }
  // Takes everything that waits, without blocking. If nothing waits, that is no error.
  Result<DevlinkChanges> Receive();

 private:
  explicit DevlinkMonitor(Fd fd) : fd_(std::move(fd)) {}

  Fd fd_;
  alignas(8) std::array<char, 32768> buffer_;
};

// Adds what a datagram of the kernel tells. Pure.
void DecodeDevlinkChanges(std::string_view datagram, DevlinkChanges& changes);

}  // namespace rail::netlink
