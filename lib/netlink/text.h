// Addresses, routes and rules as a person writes them; for error messages.
//
// Use:      "add route " + ToText(route)      // "0.0.0.0/0 via 169.254.1.1 on link 7 table 100"
// Threads:  pure functions
// Source:   ip-route(8), ip-rule(8)
#pragma once

#include <string>

#include "lib/netlink/netlink.h"

namespace rail::netlink {

std::string ToText(const Address& address);
std::string ToText(const Route& route);
std::string ToText(const PolicyRule& rule);

}  // namespace rail::netlink
