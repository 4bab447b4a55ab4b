#include "lib/podnet/commands.h"

#include <fmt/format.h>

namespace rail::podnet {

bool IsPlainWord(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@%+";
  return !word.empty() && word.front() != '-' && word.find_first_not_of(kPlain) == std::string_view::npos;
}

std::string CommandFor(const netlink::Address& address, const std::string& ifname) {
  // Nobody answers for an address of the pod, so nobody needs to ask whether it is taken.
  return fmt::format("ip address replace {} dev {}{}", address.prefix.ToString(), ifname,
                     address.prefix.address.is_v6() ? " nodad" : "");
}

std::string CommandFor(const netlink::Route& route, const std::string& ifname) {
  std::string text = (route.destination.address.is_v6() ? "ip -6 route replace " : "ip route replace ") +
                     route.destination.ToString();
  if (route.gateway) text += " via " + route.gateway->ToString();
  text += " dev " + ifname;
  if (route.onlink) text += " onlink";
  if (route.link_scope && !route.destination.address.is_v6()) text += " scope link";
  text += fmt::format(" table {}", route.table);
  if (route.priority != 0) text += fmt::format(" metric {}", route.priority);
  if (route.mtu != 0) text += fmt::format(" mtu {}", route.mtu);
  if (route.advmss != 0) text += fmt::format(" advmss {}", route.advmss);
  return text;
}

std::string CommandFor(const netlink::PolicyRule& rule) {
  std::string text = rule.v6 ? "ip -6 rule add" : "ip rule add";
  if (rule.from) text += " from " + rule.from->ToString();
  if (!rule.output_interface.empty()) text += " oif " + rule.output_interface;
  return text + fmt::format(" table {} priority {}", rule.table, rule.priority);
}

std::string CommandForNeighbour(const IpAddress& gateway, const MacAddress& mac, const std::string& ifname) {
  return fmt::format("ip neighbour replace {} lladdr {} nud permanent dev {}", gateway.ToString(),
                     mac.ToString(), ifname);
}

std::string CommandForSysctl(std::string key, const std::string& value) {
  // sysctl(8) takes slashes as well; then a dot in the interface's name is no separator.
  return "sysctl -w " + std::move(key) + "=" + value;
}

}  // namespace rail::podnet
