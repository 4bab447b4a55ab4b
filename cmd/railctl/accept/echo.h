// The echo of an agent, and the datagrams that measure the way to the echo of another.
//
// Use:      RAIL_ASSIGN(const auto server, EchoServer::Start());   server->port();
//           RAIL_ASSIGN(const v1::EchoResponse response, Echo(request, end));
// Threads:  any; the server has a thread of its own
// Owns:     EchoServer: sockets and thread. They are of the network namespace of the thread that starts it.
// Source:   ip(7) (IP_MTU_DISCOVER, IP_PKTINFO), ipv6(7), udp(7), socket(7) (SO_BINDTODEVICE)
#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "cmd/railctl/accept/agent_call.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "rail/v1/accept.pb.h"

namespace rail::accept {

// Sends back each datagram of Echo, from the address to which it came, without fragments. An answer is no question: two echoes that
// are told of each other by a forged datagram do not go on for ever.
class EchoServer {
 public:
  // Serves on each interface that is there now, lo excepted: on port 4792, or on another where that is taken.
  // Errors: of socket(2) and bind(2); kTransient no thread.
  static Result<std::unique_ptr<EchoServer>> Start();
  ~EchoServer();
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;

  uint16_t port() const { return port_; }

 private:
  EchoServer() = default;
  Status Open(uint16_t port);
  Status OpenOne(const std::string& interface, int family);
  void Serve();

  uint16_t port_ = 0;
  std::vector<Fd> sockets_;
  Wake end_;
  std::thread thread_;
};

// With a pause of 0 the next datagram goes out when the last is answered, or after 20 ms.
// Errors: kInvalid the request; of socket(2); kTransient `end`.
Result<v1::EchoResponse> Echo(const v1::EchoRequest& request, const Wake& end);

}  // namespace rail::accept
