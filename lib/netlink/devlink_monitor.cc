#include "lib/netlink/devlink_monitor.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/netlink/devlink_message.h"
#include "lib/netlink/events.h"

namespace rail::netlink {

void DecodeDevlinkChanges(std::string_view datagram, DevlinkChanges& changes) {
  while (datagram.size() >= NLMSG_HDRLEN + GENL_HDRLEN) {
    nlmsghdr header;
    std::memcpy(&header, datagram.data(), sizeof header);
    if (header.nlmsg_len < NLMSG_HDRLEN + GENL_HDRLEN || header.nlmsg_len > datagram.size()) return;
    genlmsghdr body;
    std::memcpy(&body, datagram.data() + NLMSG_HDRLEN, sizeof body);
    switch (body.cmd) {
      case DEVLINK_CMD_RATE_NEW:
      case DEVLINK_CMD_RATE_SET:
      case DEVLINK_CMD_RATE_DEL: changes.rates = true; break;
      case DEVLINK_CMD_NEW:
      case DEVLINK_CMD_DEL:
      case DEVLINK_CMD_PORT_NEW:
      case DEVLINK_CMD_PORT_DEL: changes.ports = true; break;
      default: break;
    }
    datagram.remove_prefix(std::min<size_t>(datagram.size(), NLMSG_ALIGN(header.nlmsg_len)));
  }
}

Result<std::unique_ptr<DevlinkMonitor>> DevlinkMonitor::Open() {
  RAIL_ASSIGN(Socket asks, Socket::Open(NETLINK_GENERIC));
  RAIL_ASSIGN(const uint32_t group, FindDevlinkEvents(asks));
  const auto failed = [] { return FailErrno(errno, "watch devlink"); };
  Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_GENERIC));
  if (!fd) return failed();
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return failed();
  if (::setsockopt(fd.get(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) != 0) return failed();
  return std::unique_ptr<DevlinkMonitor>(new DevlinkMonitor(std::move(fd)));
}

Result<DevlinkChanges> DevlinkMonitor::Receive() {
  DevlinkChanges changes;
  RAIL_ASSIGN(changes.overrun,
              ReceiveEvents(fd_.get(), buffer_, "receive events of devlink",
                            [&](std::string_view datagram) { DecodeDevlinkChanges(datagram, changes); }));
  return changes;
}

}  // namespace rail::netlink
