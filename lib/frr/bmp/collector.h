// The receiver of bgpd's BMP: a port on the loopback that bgpd connects to, and the connections that carry the messages. Nothing in a message
// of bgpd 8.4 says which of its instances it is of, so each instance connects to an address of its own.
//
// Use:      RAIL_ASSIGN(Listener listener, Listener::Open(11019, Listener::On::kOneAddress));    // loop->Watch(listener.fd(), ...)
//           RAIL_ASSIGN(auto connection, listener.Accept(bgpd_uid));     // nothing: it is gone again
//           Feed feed(std::move(connection->fd), Instance::kDefault);    // loop->Watch(feed.fd(), ...)
//           RAIL_ASSIGN(bool open, feed.Receive([&](const Message& message) { ... }));
// Threads:  one at a time
// Owns:     the sockets
// Source:   RFC 7854 section 3.2 (the router connects); proc_net(5): /proc/net/tcp
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/frr/bmp/message.h"

namespace rail::bmp {

class Listener {
 public:
  // 127.0.0.1, or every address of the loopback and nothing that comes from elsewhere, in the network namespace of the calling thread.
  // `port` 0: any free one. Errors: kExists the port is taken (the message says what to do); kPermission.
  enum class On { kOneAddress, kAllLoopback };
  static Result<Listener> Open(uint16_t port, On on = On::kOneAddress);

  // Readable when somebody connects.
  int fd() const { return fd_.get(); }
  uint16_t port() const { return port_; }

  // Takes the next connection. Nothing: no connection waits, or its other end is closed already.
  // Errors: kPermission another user than `owner` made the connection; it is closed.
  struct Connection {
    Fd fd;
    IpAddress to;  // the address that it was made to
  };
  Result<std::optional<Connection>> Accept(uid_t owner);

 private:
  Listener(Fd fd, uint16_t port) : fd_(std::move(fd)), port_(port) {}
  Fd fd_;
  uint16_t port_;
};

// The user who made the other end of a connection on the loopback, from the text of /proc/net/tcp. Ports are in host order;
// the peer's address is 127.0.0.1, ours `our_address`. Nothing: there is no such connection, or no process holds its other end any more.
std::optional<uid_t> OwnerOfPeer(std::string_view proc_net_tcp, const IpAddress& our_address,
                                 uint16_t our_port, uint16_t peer_port);

class Feed {
 public:
  explicit Feed(Fd fd, Instance from = Instance::kDefault) : fd_(std::move(fd)), framer_(from) {}
  int fd() const { return fd_.get(); }

  // Reads what has arrived, up to about a megabyte so that other work gets its turn, and calls `each` with each message.
  // False: bgpd has closed the connection. Errors: kInvalid the bytes are not BMP; kTransient the connection is lost.
  Result<bool> Receive(const std::function<void(const Message&)>& each);

 private:
  Fd fd_;
  Framer framer_;
};

}  // namespace rail::bmp
