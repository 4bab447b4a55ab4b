// Converts a plan into kernel objects, which Configure makes and Verify looks for.
//
// Use:      for (const netlink::Route& route : RoutesOf(plan, link.index)) ...
// Threads:  pure functions
// Source:   README.md of this folder
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lib/netlink/netlink.h"
#include "lib/podnet/podnet.h"

namespace rail::podnet {

// Errors: kInvalid.
Status Validate(const Plan& plan);

std::vector<netlink::Address> AddressesOf(const Plan& plan, int link);
std::vector<IpAddress> NeighboursOf(const Plan& plan);  // every gateway, no duplicates
std::vector<netlink::Route> RoutesOf(const Plan& plan, int link);
// A route on the link to every gateway, in the rail's own table. The kernel finds it by the rule "oif the interface" when somebody
// adds a route by way of the gateway without the flag onlink, as we do for IPv6 and Multus does for "default-route".
std::vector<netlink::Route> GatewayRoutesOf(const Plan& plan, int link);
std::vector<netlink::PolicyRule> RulesOf(const Plan& plan);
// Whether a plan's address or route is among those that the kernel has, whoever has set it. Linux takes an IPv6 address once, whatever
// its prefix length, and another plugin may have set it with the subnet's. The flag onlink only tells the kernel not to look for the
// gateway when the route is added: other plugins, and Multus with its default route, add routes without it. They add them without the
// rail's metric, too, as earlier versions of ours did.
bool HoldsAddress(const std::vector<netlink::Address>& present, const netlink::Address& wanted);
bool HoldsRoute(const Plan& plan, const std::vector<netlink::Route>& present, netlink::Route wanted);
std::vector<std::pair<std::string, std::string>> SysctlsOf(const Plan& plan);  // key, value

}  // namespace rail::podnet
