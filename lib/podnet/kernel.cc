#include "lib/podnet/kernel.h"

#include <algorithm>

#include "lib/base/timing.h"
#include "lib/netlink/kernel.h"
#include "lib/netlink/text.h"
#include "lib/podnet/plan.h"

namespace rail::podnet {
namespace {

using netlink::Netlink;

Status SetSysctls(const Plan& plan) {
  for (const auto& [key, value] : SysctlsOf(plan)) {
    const Status status = netns::WriteSysctl(key, value);
    if (status) continue;
    // A kernel without IPv6 has nothing to disable.
    if (key.ends_with("/disable_ipv6") && value == "1" && status.error().code == Code::kNotFound) continue;
    return status;
  }
  return {};
}

// An address that exists may be ours from before a crash, or another plugin's that has made the interface.
Status AddAddress(Netlink& netlink, const netlink::Address& address) {
  Status status = netlink.AddAddress(address);
  if (status || status.error().code != Code::kExists) return status;
  RAIL_ASSIGN(const auto present, netlink.ListAddresses(address.link));
  return HoldsAddress(present, address) ? Status() : status;
}

// "local 0.0.0.0/0 on link 1 table 100 (interface lo)"
std::string Described(Netlink& netlink, const netlink::Route& route) {
  const auto links = netlink.ListLinks();
  if (!links) return ToText(route);
  const auto link = std::ranges::find(*links, route.link, &netlink::Link::index);
  return ToText(route) + (link == links->end() ? "" : " (interface " + link->name + ")");
}

// Where another's route stands, packets of the rail's addresses could leave by another interface.
Status CheckTableIsOurs(Netlink& netlink, const Plan& plan, int link) {
  RAIL_ASSIGN(const auto present, netlink.ListRoutes(plan.table));
  const auto other = std::ranges::find_if(present, [&](const auto& route) { return route.link != link; });
  if (other == present.end()) return {};
  return Fail(Code::kExists, "routing table " + std::to_string(plan.table) +
                                 " is to be the rail's alone, and " + Described(netlink, *other) +
                                 " stands there: let whoever made that route use another table, or choose "
                                 "others for rails by pods.first_table in node.json");
}

Status AddRoute(Netlink& netlink, const Plan& plan, const netlink::Route& route) {
  Status status = netlink.AddRoute(route);
  if (status || status.error().code != Code::kExists) return status;
  RAIL_ASSIGN(const auto present, netlink.ListRoutes(route.table));
  if (HoldsRoute(plan, present, route)) return {};
  const auto other = std::ranges::find_if(present, [&](const netlink::Route& it) {
    return it.destination == route.destination && it.priority == route.priority;
  });
  return FailWrapped(status.error(), "another route, " +
                                         (other == present.end() ? "to " + route.destination.ToString()
                                                                 : Described(netlink, *other)) +
                                         ", is in the pod; give IPAM's another priority, or leave it out");
}

Status AddRule(Netlink& netlink, const netlink::PolicyRule& rule) {
  Status status = netlink.AddRule(rule);
  // The kernel compares the whole rule, so this is the same rule.
  if (!status && status.error().code == Code::kExists) return {};
  return status;
}

Status ConfigureHere(const Plan& plan) {
  RAIL_ASSIGN(const auto netlink, netlink::Kernel::Open());
  RAIL_ASSIGN(const netlink::Link link, netlink->GetLink(plan.ifname));
  RAIL_TRY(CheckTableIsOurs(*netlink, plan, link.index));
  RAIL_TRY(SetSysctls(plan));
  if (plan.mtu != 0 && link.mtu != plan.mtu) RAIL_TRY(netlink->SetMtu(link.index, plan.mtu));
  for (const auto& address : AddressesOf(plan, link.index)) RAIL_TRY(AddAddress(*netlink, address));
  if (!link.up) RAIL_TRY(netlink->SetUp(link.index));
  // Set these after the link is up: when a link goes down, it loses its neighbours and routes.
  for (const IpAddress& gateway : NeighboursOf(plan)) {
    RAIL_TRY(netlink->SetPermanentNeighbour(link.index, gateway, plan.gateway_mac));
  }
  // By the gateways' routes and the rules the kernel finds the gateways of the other routes.
  for (const auto& route : GatewayRoutesOf(plan, link.index)) RAIL_TRY(AddRoute(*netlink, plan, route));
  for (const auto& rule : RulesOf(plan)) RAIL_TRY(AddRule(*netlink, rule));
  for (const auto& route : RoutesOf(plan, link.index)) RAIL_TRY(AddRoute(*netlink, plan, route));
  return {};
}

Status DeconfigureHere(const Plan& plan) {
  RAIL_ASSIGN(const auto netlink, netlink::Kernel::Open());
  for (const auto& rule : RulesOf(plan)) {
    const Status status = netlink->DeleteRule(rule);
    if (!status && status.error().code != Code::kNotFound) return status;
  }
  return {};
}

}  // namespace

Status Kernel::Configure(const netns::Netns& pod, const Plan& plan) {
  const Timed timed(Part::kPod);
  RAIL_TRY(Validate(plan));
  RAIL_TRY_AS(pod.Run([&] { return ConfigureHere(plan); }), "configure " + plan.ifname + " in the pod");
  return {};
}

Status Kernel::Deconfigure(const netns::Netns& pod, const Plan& plan) {
  const Timed timed(Part::kPod);
  RAIL_TRY(Validate(plan));
  RAIL_TRY_AS(pod.Run([&] { return DeconfigureHere(plan); }),
              "remove the rules of " + plan.ifname + " from the pod");
  return {};
}

Result<bool> Kernel::HasLink(const netns::Netns& pod, const std::string& name) {
  const Timed timed(Part::kPod);
  bool has = false;
  RAIL_TRY(pod.Run([&]() -> Status {
    RAIL_ASSIGN(const auto netlink, netlink::Kernel::Open());
    const auto link = netlink->GetLink(name);
    if (!link && link.error().code != Code::kNotFound) return tl::make_unexpected(link.error());
    has = link.has_value();
    return {};
  }));
  return has;
}

}  // namespace rail::podnet
