// From the kernel's rtnetlink messages to values.
//
// Use:      if (auto link = DecodeLink(message)) links.push_back(*link);
// Threads:  pure functions
// Source:   kernel include/uapi/linux/{if_link,if_addr,rtnetlink,fib_rules,neighbour,netlink}.h
// Every function takes one whole message, header first, aligned to 4 bytes, and gives nothing when the message is of another type,
// is cut short, or stands for something that the value cannot hold (said at the function).
#pragma once

#include <optional>
#include <string_view>

#include "lib/netlink/netlink.h"

namespace rail::netlink {

std::optional<Link> DecodeLink(std::string_view message);
std::optional<Address> DecodeAddress(std::string_view message);
// Nothing for cached and multicast routes, and for types other than unicast. Of a multipath route no next hop is given.
std::optional<Route> DecodeRoute(std::string_view message);
// Nothing for rules whose action is another than to look a table up.
std::optional<PolicyRule> DecodeRule(std::string_view message);
// Nothing for bridge and proxy entries.
std::optional<Neighbour> DecodeNeighbour(std::string_view message);

// What an NLMSG_ERROR says, or the NLMSG_DONE that closes a dump.
struct Verdict {
  int sys_errno = 0;  // 0: done
  std::string text;   // the kernel's own words; often empty
};
std::optional<Verdict> DecodeVerdict(std::string_view message);

}  // namespace rail::netlink
