#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "cmd/railctl/accept/describe.h"
#include "cmd/railctl/accept/echo.h"
#include "cmd/railctl/accept/echo_socket.h"
#include "lib/base/thread.h"

namespace rail::accept {
namespace {

constexpr uint16_t kPort = 4792;
constexpr int kBuffer = 4 << 20;  // bytes

// Answers one datagram. False: there was none. The address to which it came is in the control message, which is sent back as it is.
bool AnswerOne(int socket, std::vector<char>& buffer) {
  sockaddr_storage peer{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(in6_pktinfo))> control{};
  iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
  msghdr message{};
  message.msg_name = &peer;
  message.msg_namelen = sizeof peer;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(socket, &message, 0);
  if (size < 0) return errno != EAGAIN;
  part.iov_len = static_cast<size_t>(size);
  if (!TurnToAnswer(buffer.data(), part.iov_len)) return true;
  message.msg_flags = 0;
  (void)::sendmsg(socket, &message, 0);
  return true;
}

}  // namespace

Result<std::unique_ptr<EchoServer>> EchoServer::Start() {
  std::unique_ptr<EchoServer> server(new EchoServer);
  if (!server->end_) return FailErrno(EMFILE, "start the echo");
  Status open = server->Open(kPort);
  if (!open && open.error().sys_errno == EADDRINUSE) open = server->Open(0);
  RAIL_TRY_AS(std::move(open), "start the echo");
  RAIL_ASSIGN(server->thread_, StartThread([echo = server.get()] { echo->Serve(); }));
  return server;
}

EchoServer::~EchoServer() {
  end_.Give();
  if (thread_.joinable()) thread_.join();
}

Status EchoServer::Open(uint16_t port) {
  sockets_.clear();
  port_ = port;
  RAIL_ASSIGN(const auto interfaces, ListInterfaces());
  for (const auto& interface : interfaces) {
    for (const int family : {AF_INET, AF_INET6}) RAIL_TRY(OpenOne(interface.name(), family));
  }
  return {};
}

// The first socket may take any port that is free; the others are to have the same.
Status EchoServer::OpenOne(const std::string& interface, int family) {
  const std::string doing = "serve on " + interface;
  auto opened = OpenUdp(family, interface);
  if (!opened && opened.error().sys_errno == EAFNOSUPPORT) return {};
  RAIL_ASSIGN_AS(Fd fd, std::move(opened), doing);
  const int yes = 1;
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kBuffer, sizeof kBuffer);
  const int wanted = family == AF_INET
                         ? ::setsockopt(fd.get(), IPPROTO_IP, IP_PKTINFO, &yes, sizeof yes)
                         : ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_RECVPKTINFO, &yes, sizeof yes);
  sockaddr_storage address = ToSocketAddress(family, {}, port_, 0);
  if (wanted != 0 || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return FailErrno(errno, doing);
  socklen_t length = sizeof address;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return FailErrno(errno, doing);
  port_ =
      ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);  // in the same place in sockaddr_in6
  sockets_.push_back(std::move(fd));
  return {};
}

void EchoServer::Serve() {
  constexpr int kMostAtOnce = 256;  // datagrams: one that sends without end keeps no other from an answer
  std::vector<char> buffer(64 << 10);
  std::vector<pollfd> events = {PollIn(end_)};
  for (const Fd& socket : sockets_) events.push_back({.fd = socket.get(), .events = POLLIN, .revents = 0});
  while (WaitFor(events, {})) {
    for (size_t i = 1; i < events.size(); ++i) {
      for (int n = 0; events[i].revents != 0 && n < kMostAtOnce && AnswerOne(events[i].fd, buffer); ++n) {
      }
    }
  }
}

}  // namespace rail::accept
