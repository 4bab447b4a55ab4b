// Decodes the kernel's rtnetlink messages into values.
//
// Use:      if (auto link = DecodeLink(message)) links.push_back(*link);
// Threads:  pure functions
// Source:   kernel include/uapi/linux/{if_link,if_addr,rtnetlink,fib_rules,neighbour,netlink}.h
// Every function takes one whole message that begins with its header, aligned to 4 bytes. It returns nothing when the message is
// of another type, is cut short, or means something that the value cannot hold (see the function).
#pragma once

#include <optional>
#include <string_view>

#include "lib/netlink/netlink.h"

namespace rail::netlink {

std::optional<Link> DecodeLink(std::string_view message);
std::optional<Address> DecodeAddress(std::string_view message);
// Nothing for cached and multicast routes. For a multipath route, leaves out the next hops.
std::optional<Route> DecodeRoute(std::string_view message);
// Nothing for rules with another action than to look up a table.
std::optional<PolicyRule> DecodeRule(std::string_view message);
// Nothing for bridge and proxy entries.
std::optional<Neighbour> DecodeNeighbour(std::string_view message);

// The content of an NLMSG_ERROR, or of the NLMSG_DONE that ends a dump.
struct Verdict {
  int sys_errno = 0;  // 0: done
  std::string text;   // the kernel's own words; often empty
};
std::optional<Verdict> DecodeVerdict(std::string_view message);

}  // namespace rail::netlink
