// The commands of iproute2 by which a person makes a piece of a pod's inside again, as Configure makes it.
//
// Use:      CommandFor(route, "net1")     // "ip route replace 0.0.0.0/0 via 169.254.1.1 dev net1 onlink table 103"
// Threads:  pure functions
// Source:   ip-address(8), ip-neighbour(8), ip-route(8), ip-rule(8); podnet_test.cc runs each of them
#pragma once

#include <string>
#include <string_view>

#include "lib/netlink/netlink.h"

namespace rail::podnet {

// Whether a shell takes it as one word and as itself. A pod's author chooses the name of the interface, and a person runs the
// command: with any other word there is no command.
bool IsPlainWord(std::string_view word);

std::string CommandFor(const netlink::Address& address, const std::string& ifname);
std::string CommandFor(const netlink::Route& route, const std::string& ifname);
std::string CommandFor(const netlink::PolicyRule& rule);
std::string CommandForNeighbour(const IpAddress& gateway, const MacAddress& mac, const std::string& ifname);
std::string CommandForSysctl(std::string key, const std::string& value);

}  // namespace rail::podnet
