#include "lib/netlink/tcp_monitor.h"

#include <linux/filter.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "lib/base/fd.h"

namespace rail::netlink {
namespace {

class KernelTcpMonitor : public TcpMonitor {
 public:
  explicit KernelTcpMonitor(Fd fd) : fd_(std::move(fd)) {}

  int fd() const override { return fd_.get(); }

  Result<bool> Receive() override {
    bool gone = false;
    for (;;) {
      std::array<char, 1>
          any;  // the socket's filter has checked the port, so the message's content is not needed
      if (::recv(fd_.get(), any.data(), any.size(), MSG_DONTWAIT | MSG_TRUNC) >= 0 || errno == ENOBUFS) {
        gone = true;
      } else if (errno == EAGAIN) {
        return gone;
      } else if (errno != EINTR) {
        return FailErrno(errno, "receive the ends of TCP connections");
      }
    }
  }

 private:
  Fd fd_;
};

constexpr uint32_t Offset(size_t in_id) {
  return static_cast<uint32_t>(NLMSG_HDRLEN + offsetof(inet_diag_msg, id) + in_id);
}

}  // namespace

Result<std::unique_ptr<TcpMonitor>> TcpMonitor::Open(uint16_t port) {
  const auto failed = [] { return FailErrno(errno, "watch the ends of TCP connections"); };
  Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
  if (!fd) return failed();
  // A node closes thousands of connections. This filter drops those of other ports, so they do not wake raild.
  std::array<sock_filter, 6> program{{
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, Offset(offsetof(inet_diag_sockid, idiag_sport))),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 2, 0),
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, Offset(offsetof(inet_diag_sockid, idiag_dport))),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
      BPF_STMT(BPF_RET | BPF_K, 0),
  }};
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0) return failed();
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = 1U << (SKNLGRP_INET6_TCP_DESTROY - 1);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return failed();
  return std::unique_ptr<TcpMonitor>(new KernelTcpMonitor(std::move(fd)));
}

}  // namespace rail::netlink
