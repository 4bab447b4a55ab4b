// Reports that TCP connections over IPv6 from or to a port are gone, whichever process had them. The kernel reports this sooner
// than their owner, which may not report it at all.
//
// Use:      RAIL_ASSIGN(auto monitor, TcpMonitor::Open(179));      // of the calling thread's namespace, for good
//           ... monitor->fd() is readable ...
//           RAIL_ASSIGN(const bool gone, monitor->Receive());
// Threads:  one at a time
// Owns:     its socket
// Source:   sock_diag(7); linux/sock_diag.h, group SKNLGRP_INET6_TCP_DESTROY; linux/inet_diag.h
#pragma once

#include <cstdint>
#include <memory>

#include "lib/base/error.h"

namespace rail::netlink {

class TcpMonitor {
 public:
  // Errors: kPermission (CAP_NET_ADMIN), kTransient.
  static Result<std::unique_ptr<TcpMonitor>> Open(uint16_t port);

  virtual ~TcpMonitor() = default;
  virtual int fd() const = 0;  // readable when there is something to receive
  // Takes everything that waits, without blocking. False: no connection of the port is gone.
  virtual Result<bool> Receive() = 0;
};

}  // namespace rail::netlink
