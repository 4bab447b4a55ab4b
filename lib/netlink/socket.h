// One netlink socket: a request and its answer, or a dump, at a time.
//
// Use:      RAIL_ASSIGN(auto socket, Socket::Open());
//           RAIL_TRY(socket.Request(message, "set the MTU of link 7"));
//           RAIL_TRY(socket.Dump(message, "list links", [&](std::string_view m) { ... }, [&] { links.clear(); }));
// Threads:  one at a time
// Owns:     the libnl socket; it stays in the namespace where it was opened
// Source:   netlink(7). The answers are read here and not by libnl's loop, whose return codes lose the errno and which does
//           not look into the NLMSG_DONE of a failed dump.
#pragma once

#include <linux/netlink.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/error.h"

struct nl_sock;
struct nl_msg;

namespace rail::netlink {

struct FreeMessage {
  void operator()(nl_msg* message) const;
};
using Message = std::unique_ptr<nl_msg, FreeMessage>;

class Socket {
 public:
  using Reader = std::function<void(std::string_view message)>;

  // `protocol`: NETLINK_ROUTE, NETLINK_GENERIC, ... Errors: kUnsupported the kernel has no such protocol.
  static Result<Socket> Open(int protocol = NETLINK_ROUTE);

  // Sends `message` and reads until the kernel acknowledges it; what comes before that goes to `reader`.
  // Errors: the kernel's errno and text behind `doing`; kTransient when it stays silent.
  Status Request(nl_msg* message, std::string_view doing, const Reader& reader = {});

  // The same for a dump. `restart` is called when the kernel says that the dump was interrupted by a change, before it is asked
  // again. Errors: also kTransient after five interrupted ones.
  Status Dump(nl_msg* message, std::string_view doing, const Reader& reader,
              const std::function<void()>& restart);

 private:
  struct Free {
    void operator()(nl_sock* socket) const;
  };
  enum class Ending { kAcknowledged, kDone, kInterrupted };

  explicit Socket(nl_sock* socket) : socket_(socket), buffer_(kBufferSize) {}
  Status Send(nl_msg* message, std::string_view doing);
  Result<Ending> Receive(uint32_t sequence, std::string_view doing, const Reader& reader);

  // The kernel never makes a datagram of a dump larger than 32 KiB; a PF with 256 VFs needs some 60 KiB.
  static constexpr size_t kBufferSize = 65536;

  std::unique_ptr<nl_sock, Free> socket_;
  std::vector<char> buffer_;
};

}  // namespace rail::netlink
