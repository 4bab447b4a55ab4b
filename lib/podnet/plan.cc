#include "lib/podnet/plan.h"

#include <algorithm>

namespace rail::podnet {
namespace {

constexpr uint32_t kMainTable = 254;
constexpr uint32_t kFirstOfKernel = 253;  // RT_TABLE_DEFAULT, rtnetlink(7)
constexpr uint32_t kLastOfKernel = 255;   // RT_TABLE_LOCAL

bool Uses(const Plan& plan, bool v6) {
  return std::ranges::any_of(plan.addresses, [&](const IpAddress& a) { return a.is_v6() == v6; });
}

std::optional<IpAddress> GatewayOf(const Plan& plan, bool v6) {
  for (const IpAddress& gateway : plan.gateways) {
    if (gateway.is_v6() == v6) return gateway;
  }
  return std::nullopt;
}

std::optional<IpAddress> GatewayOf(const Plan& plan, const RouteSpec& spec) {
  if (spec.scope == Scope::kLink) return std::nullopt;
  return spec.gateway ? spec.gateway : GatewayOf(plan, spec.destination.address.is_v6());
}

IpPrefix Default(bool v6) {
  return *IpPrefix::Parse(v6 ? "::/0" : "0.0.0.0/0");
}

std::string FamilyName(bool v6) {
  return v6 ? "IPv6" : "IPv4";
}

}  // namespace

Status Validate(const Plan& plan) {
  const std::string doing = "configure " + plan.ifname + " in the pod";
  if (plan.addresses.empty()) return Fail(Code::kInvalid, doing + ": it has no address");
  if (plan.table == 0 || (plan.table >= kFirstOfKernel && plan.table <= kLastOfKernel)) {
    return Fail(Code::kInvalid,
                doing + ": routing table " + std::to_string(plan.table) + " is one of the kernel's own");
  }
  for (const bool v6 : {false, true}) {
    if (Uses(plan, v6) && !GatewayOf(plan, v6)) {
      return Fail(Code::kInvalid,
                  doing + ": it has an " + FamilyName(v6) + " address and no gateway of that family");
    }
  }
  for (const RouteSpec& spec : plan.routes) {
    const bool v6 = spec.destination.address.is_v6();
    const std::string route = doing + ": route to " + spec.destination.ToString();
    if (!Uses(plan, v6))
      return Fail(Code::kInvalid, route + ": the interface has no " + FamilyName(v6) + " address");
    if (spec.gateway && spec.gateway->is_v6() != v6) {
      return Fail(Code::kInvalid,
                  route + ": its gateway " + spec.gateway->ToString() + " is of the other family");
    }
  }
  return {};
}

std::vector<netlink::Address> AddressesOf(const Plan& plan, int link) {
  std::vector<netlink::Address> addresses;
  for (const IpAddress& address : plan.addresses) addresses.push_back({link, {address, address.bits()}});
  return addresses;
}

std::vector<IpAddress> NeighboursOf(const Plan& plan) {
  std::vector<IpAddress> neighbours;
  const auto add = [&](const std::optional<IpAddress>& gateway) {
    if (gateway && Uses(plan, gateway->is_v6()) &&
        std::ranges::find(neighbours, *gateway) == neighbours.end()) {
      neighbours.push_back(*gateway);
    }
  };
  for (const IpAddress& gateway : plan.gateways) add(gateway);
  for (const RouteSpec& spec : plan.routes) add(GatewayOf(plan, spec));
  return neighbours;
}

std::vector<netlink::Route> RoutesOf(const Plan& plan, int link) {
  std::vector<netlink::Route> routes;
  for (const bool v6 : {false, true}) {
    if (!Uses(plan, v6)) continue;
    routes.push_back({.destination = Default(v6),
                      .gateway = GatewayOf(plan, v6),
                      .link = link,
                      .onlink = !v6,
                      .table = plan.table});
  }
  for (const RouteSpec& spec : plan.routes) {
    netlink::Route route;
    route.destination = spec.destination;
    route.gateway = GatewayOf(plan, spec);
    route.link = link;
    // With this flag IPv6 refuses a gateway that another interface's route in main covers. Without it, the kernel finds the
    // gateway's own route (GatewayRoutesOf).
    route.onlink = route.gateway && !route.destination.address.is_v6();
    route.link_scope = !route.gateway;
    route.table = spec.table.value_or(kMainTable);
    route.priority = spec.priority.value_or(route.table == plan.table ? 0 : plan.metric);
    route.mtu = spec.mtu;
    route.advmss = spec.advmss;
    // IPAM may also give the rail's own default route.
    if (std::ranges::find(routes, route) == routes.end()) routes.push_back(route);
  }
  return routes;
}

std::vector<netlink::Route> GatewayRoutesOf(const Plan& plan, int link) {
  std::vector<netlink::Route> routes;
  for (const IpAddress& gateway : NeighboursOf(plan)) {
    routes.push_back(
        {.destination = {gateway, gateway.bits()}, .link = link, .table = plan.table, .link_scope = true});
  }
  return routes;
}

std::vector<netlink::PolicyRule> RulesOf(const Plan& plan) {
  std::vector<netlink::PolicyRule> rules;
  for (const IpAddress& address : plan.addresses) {
    rules.push_back({.v6 = address.is_v6(),
                     .priority = plan.rule,
                     .table = plan.table,
                     .from = IpPrefix{address, address.bits()},
                     .output_interface = ""});
  }
  for (const bool v6 : {false, true}) {
    if (!Uses(plan, v6)) continue;
    rules.push_back({.v6 = v6,
                     .priority = plan.rule + kOutputRule,
                     .table = plan.table,
                     .from = std::nullopt,
                     .output_interface = plan.ifname});
  }
  return rules;
}

bool HoldsAddress(const std::vector<netlink::Address>& present, const netlink::Address& wanted) {
  return std::ranges::any_of(present, [&](const netlink::Address& address) {
    return address == wanted || (wanted.prefix.address.is_v6() && address.link == wanted.link &&
                                 address.prefix.address == wanted.prefix.address);
  });
}

bool HoldsRoute(const Plan& plan, const std::vector<netlink::Route>& present, netlink::Route wanted) {
  wanted.onlink = false;
  return std::ranges::any_of(present, [&](netlink::Route route) {
    route.onlink = false;
    if (wanted.priority == plan.metric && route.priority == 0) route.priority = plan.metric;
    return route == wanted;
  });
}

std::vector<std::pair<std::string, std::string>> SysctlsOf(const Plan& plan) {
  const std::string v4 = "net/ipv4/conf/" + plan.ifname + "/";
  const std::string v6 = "net/ipv6/conf/" + plan.ifname + "/";
  std::vector<std::pair<std::string, std::string>> sysctls = {
      {v4 + "rp_filter", "2"}, {v4 + "arp_ignore", "1"}, {v4 + "arp_announce", "2"}};
  if (!Uses(plan, true)) {
    sysctls.emplace_back(v6 + "disable_ipv6", "1");
    return sysctls;
  }
  // Set these before IPv6 is enabled, so that the interface never gets a link-local or an advertised address.
  sysctls.emplace_back(v6 + "addr_gen_mode", "1");
  sysctls.emplace_back(v6 + "accept_ra", "0");
  sysctls.emplace_back(v6 + "disable_ipv6", "0");
  return sysctls;
}

}  // namespace rail::podnet
