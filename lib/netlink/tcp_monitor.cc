#include "lib/netlink/tcp_monitor.h"

#include <linux/filter.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "lib/base/fd.h"

namespace rail::netlink {
namespace {

// What the message at `data` says. `bytes`: how many of it were received.
TcpEnd Decode(const char* data, size_t bytes) {
  TcpEnd end;
  inet_diag_msg message{};
  if (bytes < NLMSG_HDRLEN + sizeof message) return end;
  std::memcpy(&message, data + NLMSG_HDRLEN, sizeof message);
  end.local_port = ntohs(message.id.idiag_sport);
  end.remote_port = ntohs(message.id.idiag_dport);
  std::array<char, IF_NAMESIZE> name{};
  if (message.id.idiag_if != 0 && ::if_indextoname(message.id.idiag_if, name.data()) != nullptr)
    end.interface = name.data();
  size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof message);
  while (at + sizeof(nlattr) <= bytes) {
    nlattr attribute{};
    std::memcpy(&attribute, data + at, sizeof attribute);
    if (attribute.nla_len < NLA_HDRLEN || at + attribute.nla_len > bytes) break;
    if (attribute.nla_type == INET_DIAG_INFO) {
      tcp_info info{};
      std::memcpy(&info, data + at + NLA_HDRLEN,
                  std::min<size_t>(sizeof info, attribute.nla_len - NLA_HDRLEN));
      end.segments_received = info.tcpi_segs_in;
      end.bytes_received = info.tcpi_bytes_received;
    }
    at += NLA_ALIGN(attribute.nla_len);
  }
  return end;
}

class KernelTcpMonitor : public TcpMonitor {
 public:
  explicit KernelTcpMonitor(Fd fd) : fd_(std::move(fd)) {}

  int fd() const override { return fd_.get(); }

  Result<std::vector<TcpEnd>> Receive() override {
    std::vector<TcpEnd> ends;
    for (;;) {
      alignas(nlmsghdr) std::array<char, 2048> message;  // one socket's: some 400 bytes
      const ssize_t bytes = ::recv(fd_.get(), message.data(), message.size(), MSG_DONTWAIT);
      if (bytes >= 0) {
        ends.push_back(Decode(message.data(), static_cast<size_t>(bytes)));
      } else if (errno == ENOBUFS) {
        ends.emplace_back();
      } else if (errno == EAGAIN) {
        return ends;
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
