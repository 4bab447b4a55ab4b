// One netlink socket: one request and its answer, or one dump, at a time.
//
// Use:      RAIL_ASSIGN(auto socket, Socket::Open());
//           RAIL_TRY(socket.Request(message, "set the MTU of link 7"));
//           RAIL_TRY(socket.Dump(message, "list links", [&](std::string_view m) { ... }, [&] { links.clear(); }));
// Threads:  one at a time
// Owns:     the libnl socket; it stays in the namespace where it was opened
// Source:   netlink(7). This class reads the answers itself: libnl's loop loses the errno and does not look into the
//           NLMSG_DONE of a failed dump.
#pragma once

#include <linux/netlink.h>

#include <functional>
#include <memory>
#include <span>
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

  // Sends `message` and reads until the kernel acknowledges it. Calls `reader` with each message before that.
  // Errors: the kernel's errno and text after `doing`; kTransient when the kernel stays silent.
  Status Request(nl_msg* message, std::string_view doing, const Reader& reader = {});

  // Like Request, for a dump. When the kernel says that a change has interrupted the dump, calls `restart` and asks again.
  // Errors: also kTransient after five interrupted dumps.
  Status Dump(nl_msg* message, std::string_view doing, const Reader& reader,
              const std::function<void()>& restart);

  // Sends `count` whole requests, one after another in `requests`, as one datagram, at most kMostInBatch. Each asks for no
  // acknowledgement and is answered by one message, which is an error's where the kernel refuses (DecodeVerdict).
  // Errors: kTransient when the kernel stays silent. What it refuses is the reader's.
  Status Batch(std::span<char> requests, size_t count, std::string_view doing, const Reader& reader);
  static constexpr size_t kMostInBatch = 32;

 private:
  struct Free {
    void operator()(nl_sock* socket) const;
  };
  enum class Ending { kAcknowledged, kDone, kInterrupted };

  explicit Socket(nl_sock* socket) : socket_(socket), buffer_(kBufferSize) {}
  Status Send(nl_msg* message, std::string_view doing);
  Result<Ending> Receive(uint32_t sequence, std::string_view doing, const Reader& reader);

  // The kernel never makes a dump's datagram larger than 32 KiB. The answer for a PF with 256 VFs needs some 60 KiB.
  static constexpr size_t kBufferSize = 65536;

  std::unique_ptr<nl_sock, Free> socket_;
  std::vector<char> buffer_;
};

}  // namespace rail::netlink
