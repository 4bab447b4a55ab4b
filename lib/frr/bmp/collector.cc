#include "lib/frr/bmp/collector.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "lib/base/parse.h"

namespace rail::bmp {
namespace {

constexpr size_t kTurn = size_t{1} << 20;
constexpr size_t kPiece = size_t{64} << 10;
constexpr int kBacklog = 512;  // the instances of a bgpd that has just started connect at once

constexpr char kLoopback[] = "lo";

sockaddr_in Loopback(uint16_t port, Listener::On on) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(on == Listener::On::kOneAddress ? INADDR_LOOPBACK : INADDR_ANY);
  return address;
}

uint16_t PortOf(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 ? ntohs(address.sin_port) : 0;
}

Result<std::string> ReadTcpTable() {
  const char* path = "/proc/thread-self/net/tcp";  // of this thread's namespace
  const Fd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd) return FailErrno(errno, path);
  std::string text;
  for (;;) {
    const size_t before = text.size();
    text.resize(before + kPiece);
    const ssize_t n = ::read(fd.get(), text.data() + before, kPiece);
    text.resize(before + (n > 0 ? static_cast<size_t>(n) : 0));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FailErrno(errno, path);
    if (n == 0) return text;
  }
}

// "0100007F:2B0B": the address as the kernel holds it, the port in hexadecimal.
std::string Endpoint(const IpAddress& address, uint16_t port) {
  uint32_t kept = 0;
  if (!address.is_v6()) std::memcpy(&kept, address.bytes().data(), sizeof kept);
  char text[16];
  std::snprintf(text, sizeof text, "%08X:%04X", static_cast<unsigned>(kept), unsigned{port});
  return text;
}

}  // namespace

std::optional<uid_t> OwnerOfPeer(std::string_view table, const IpAddress& our_address, uint16_t our_port,
                                 uint16_t peer_port) {
  const std::string ours = Endpoint(our_address, our_port);
  const std::string peers = Endpoint(*IpAddress::Parse("127.0.0.1"), peer_port);
  for (const std::string_view line : Split(table, "\n")) {
    const auto words = Words(line);  // sl local remote st queues timer retransmits uid timeout inode
    // The line of the other end: its local address is our remote one. Inode 0: no process holds the socket.
    if (words.size() < 10 || words[1] != peers || words[2] != ours || words[9] == "0") continue;
    return Number<uid_t>(words[7]);
  }
  return std::nullopt;
}

Result<Listener> Listener::Open(uint16_t port, On on) {
  const std::string doing = std::string("listen for bgpd's BMP on ") +
                            (on == On::kOneAddress ? "127.0.0.1" : "the loopback") + " port " +
                            std::to_string(port);
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return FailErrno(errno, doing);
  const int yes = 1;
  const sockaddr_in address = Loopback(port, on);
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      (on == On::kAllLoopback &&
       ::setsockopt(fd.get(), SOL_SOCKET, SO_BINDTODEVICE, kLoopback, sizeof kLoopback) != 0) ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    if (errno == EADDRINUSE) {
      return Fail(Code::kExists,
                  doing + ": another program has it; end that program, or set bgp.bmp_port in node.json");
    }
    return FailErrno(errno, doing);
  }
  const uint16_t bound = PortOf(fd.get());
  return Listener(std::move(fd), bound);
}

Result<std::optional<Listener::Connection>> Listener::Accept(uid_t owner) {
  const std::string doing = "a BMP connection on the loopback's port " + std::to_string(port_);
  sockaddr_in peer{};
  socklen_t size = sizeof peer;
  Fd connection(
      ::accept4(fd_.get(), reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection) {
    if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR) return std::optional<Connection>();
    return FailErrno(errno, doing);
  }
  sockaddr_in ours{};
  size = sizeof ours;
  if (::getsockname(connection.get(), reinterpret_cast<sockaddr*>(&ours), &size) != 0)
    return FailErrno(errno, doing);
  const auto to = IpAddress::FromBytes({reinterpret_cast<const char*>(&ours.sin_addr), sizeof ours.sin_addr});
  if (!to) return Fail(Code::kInternal, doing + ": it has no address");
  RAIL_ASSIGN_AS(const std::string table, ReadTcpTable(), doing);
  const auto uid = OwnerOfPeer(table, *to, port_, ntohs(peer.sin_port));
  if (!uid) return std::optional<Connection>();
  if (*uid != owner) {
    return Fail(Code::kPermission, doing + ": made by user " + std::to_string(*uid) + ", bgpd is user " +
                                       std::to_string(owner) + "; refused");
  }
  return std::optional(Connection{std::move(connection), *to});
}

Result<bool> Feed::Receive(const std::function<void(const Message&)>& each) {
  std::vector<char> piece(kPiece);
  for (size_t taken = 0; taken < kTurn;) {
    const ssize_t n = ::recv(fd_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (n < 0) return FailErrno(errno, "receive BMP from bgpd");
    if (n == 0) return false;
    taken += static_cast<size_t>(n);
    framer_.Feed({piece.data(), static_cast<size_t>(n)});
    for (Message message;;) {
      RAIL_ASSIGN_AS(const bool whole, framer_.Next(message), "receive BMP from bgpd");
      if (!whole) break;
      each(message);
    }
  }
  return true;
}

}  // namespace rail::bmp
