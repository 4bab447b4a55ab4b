#include "lib/netlink/text.h"

#include <iterator>

namespace rail::netlink {

std::string ToText(const Address& address) {
  return address.prefix.ToString() + " on link " + std::to_string(address.link);
}

std::string ToText(const Route& route) {
  static constexpr const char* kTypes[] = {"",          "",           "local ",     "broadcast ",
                                           "anycast ",  "multicast ", "blackhole ", "unreachable ",
                                           "prohibit ", "throw ",     "nat "};  // RTN_*, rtnetlink(7)
  std::string text = route.type < std::size(kTypes) ? kTypes[route.type] : "";
  text += route.destination.ToString();
  if (route.gateway) text += " via " + route.gateway->ToString();
  text += " on link " + std::to_string(route.link) + " table " + std::to_string(route.table);
  if (route.priority != 0) text += " metric " + std::to_string(route.priority);
  return text;
}

std::string ToText(const PolicyRule& rule) {
  std::string text = std::to_string(rule.priority) + ":";
  if (rule.from) text += " from " + rule.from->ToString();
  if (!rule.output_interface.empty()) text += " oif " + rule.output_interface;
  text += " table " + std::to_string(rule.table);
  if (rule.v6) text += " (IPv6)";
  return text;
}

}  // namespace rail::netlink
