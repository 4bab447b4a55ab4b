#include "lib/netlink/monitor.h"

#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "lib/base/fd.h"

namespace rail::netlink {
namespace {

// Room for some thousand events: a node that starts 100 pods at once sends hundreds within milliseconds.
constexpr int kReceiveBuffer = 1 << 20;

class KernelMonitor : public Monitor {
 public:
  explicit KernelMonitor(Fd fd) : fd_(std::move(fd)) {}

  int fd() const override { return fd_.get(); }

  Result<Changes> Receive() override {
    Changes changes;
    for (;;) {
      sockaddr_nl from{};
      socklen_t from_size = sizeof from;
      const ssize_t n = ::recvfrom(fd_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT,
                                   reinterpret_cast<sockaddr*>(&from), &from_size);
      if (n >= 0) {
        if (from.nl_pid == 0) Read({buffer_.data(), static_cast<size_t>(n)}, changes);
      } else if (errno == ENOBUFS) {
        changes.overrun = true;
      } else if (errno == EAGAIN) {
        break;
      } else if (errno != EINTR) {
        return FailErrno(errno, "receive link and neighbour events");
      }
    }
    std::ranges::sort(changes.links);
    const auto repeated = std::ranges::unique(changes.links);
    changes.links.erase(repeated.begin(), repeated.end());
    return changes;
  }

 private:
  static void Read(std::string_view datagram, Changes& changes) {
    while (datagram.size() >= sizeof(nlmsghdr)) {
      nlmsghdr header;
      std::memcpy(&header, datagram.data(), sizeof header);
      if (header.nlmsg_len < sizeof header || header.nlmsg_len > datagram.size()) return;
      const std::string_view body = datagram.substr(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN);
      if (header.nlmsg_type == RTM_NEWNEIGH || header.nlmsg_type == RTM_DELNEIGH) {
        changes.neighbours_changed = true;
      } else if (header.nlmsg_type == RTM_SETDCB) {
        changes.priorities_changed = true;
      } else if ((header.nlmsg_type == RTM_NEWLINK || header.nlmsg_type == RTM_DELLINK) &&
                 body.size() >= sizeof(ifinfomsg)) {
        ifinfomsg link;
        std::memcpy(&link, body.data(), sizeof link);
        changes.links.push_back(link.ifi_index);
      }
      datagram.remove_prefix(std::min<size_t>(datagram.size(), NLMSG_ALIGN(header.nlmsg_len)));
    }
  }

  Fd fd_;
  alignas(nlmsghdr) std::array<char, 32768> buffer_;
};

}  // namespace

Result<std::unique_ptr<Monitor>> Monitor::Open() {
  const auto failed = [] { return FailErrno(errno, "watch links and neighbours"); };
  Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  if (!fd) return failed();
  // More than net.core.rmem_max needs CAP_NET_ADMIN. Without it the node's limit is enough, and Receive reports an overrun.
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBuffer, sizeof kReceiveBuffer) != 0) {
    (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
  }
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = 1U << (RTNLGRP_LINK - 1) | 1U << (RTNLGRP_NEIGH - 1) | 1U << (RTNLGRP_DCB - 1);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return failed();
  return std::unique_ptr<Monitor>(new KernelMonitor(std::move(fd)));
}

}  // namespace rail::netlink
