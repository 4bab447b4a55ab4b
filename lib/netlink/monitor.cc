#include "lib/netlink/monitor.h"

#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "lib/base/fd.h"
#include "lib/netlink/events.h"

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
    RAIL_ASSIGN(changes.overrun, ReceiveEvents(fd_.get(), buffer_, "receive link and neighbour events",
                                               [&](std::string_view datagram) { Read(datagram, changes); }));
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
      } else if (header.nlmsg_type == RTM_NEWNEXTHOP || header.nlmsg_type == RTM_DELNEXTHOP) {
        changes.default_routes_changed = true;
      } else if ((header.nlmsg_type == RTM_NEWROUTE || header.nlmsg_type == RTM_DELROUTE) &&
                 body.size() >= sizeof(rtmsg)) {
        rtmsg route;
        std::memcpy(&route, body.data(), sizeof route);
        changes.default_routes_changed = changes.default_routes_changed || route.rtm_dst_len == 0;
      } else if (header.nlmsg_type == RTM_SETDCB) {
        changes.priorities_changed = true;
      } else if ((header.nlmsg_type == RTM_NEWLINK || header.nlmsg_type == RTM_DELLINK) &&
                 body.size() >= sizeof(ifinfomsg)) {
        ifinfomsg link;
        std::memcpy(&link, body.data(), sizeof link);
        changes.links.push_back(link.ifi_index);
      } else if ((header.nlmsg_type == RTM_NEWADDR || header.nlmsg_type == RTM_DELADDR) &&
                 body.size() >= sizeof(ifaddrmsg)) {
        ifaddrmsg address;
        std::memcpy(&address, body.data(), sizeof address);
        changes.links.push_back(static_cast<int>(address.ifa_index));
      }
      datagram.remove_prefix(std::min<size_t>(datagram.size(), NLMSG_ALIGN(header.nlmsg_len)));
    }
  }

  Fd fd_;
  alignas(nlmsghdr) std::array<char, 32768> buffer_;
};

Result<std::unique_ptr<Monitor>> OpenFor(std::initializer_list<int> groups) {
  const auto failed = [] { return FailErrno(errno, "watch links, neighbours, addresses"); };
  Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  if (!fd) return failed();
  // More than net.core.rmem_max needs CAP_NET_ADMIN. Without it the node's limit is enough, and Receive reports an overrun.
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBuffer, sizeof kReceiveBuffer) != 0) {
    (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
  }
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return failed();
  for (const int group : groups) {  // a bit of nl_groups is for the first 32 alone
    if (::setsockopt(fd.get(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) != 0)
      return failed();
  }
  return std::unique_ptr<Monitor>(new KernelMonitor(std::move(fd)));
}

}  // namespace

Result<std::unique_ptr<Monitor>> Monitor::Open() {
  return OpenFor({RTNLGRP_LINK, RTNLGRP_NEIGH, RTNLGRP_DCB});
}

Result<std::unique_ptr<Monitor>> Monitor::OpenForAddresses() {
  return OpenFor(
      {RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE, RTNLGRP_NEXTHOP});
}

}  // namespace rail::netlink
