// Reports that TCP connections over IPv6 from or to a port are gone, whichever process had them. The kernel reports this sooner
// than their owner, which may not report it at all.
//
// Use:      RAIL_ASSIGN(auto monitor, TcpMonitor::Open(179));      // of the calling thread's namespace, for good
//           ... monitor->fd() is readable ...
//           RAIL_ASSIGN(const std::vector<TcpEnd> ends, monitor->Receive());
// Threads:  one at a time
// Owns:     its socket
// Source:   sock_diag(7); linux/sock_diag.h, group SKNLGRP_INET6_TCP_DESTROY; linux/inet_diag.h; linux/tcp.h
//           (tcp_info), which the message contains since Linux 4.10
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/error.h"

namespace rail::netlink {

// A connection that is gone. A message that the kernel had no room for is an end of which nothing is known.
struct TcpEnd {
  std::string interface;  // that it was bound to, as one of a link-local address is; "" none, or not known
  uint16_t local_port = 0;
  uint16_t remote_port = 0;
  uint32_t segments_received = 0;  // 1 and no bytes: refused; 0: nothing has come back
  uint64_t bytes_received = 0;     // the other side's end of the stream counts as one
};

class TcpMonitor {
 public:
  // Errors: kPermission (CAP_NET_ADMIN), kTransient.
  static Result<std::unique_ptr<TcpMonitor>> Open(uint16_t port);

  virtual ~TcpMonitor() = default;
  virtual int fd() const = 0;  // readable when there is something to receive
  // Takes everything that waits, without blocking. Names the interfaces of the calling thread's namespace. Empty: no connection of the port is gone.
  virtual Result<std::vector<TcpEnd>> Receive() = 0;
};

}  // namespace rail::netlink
