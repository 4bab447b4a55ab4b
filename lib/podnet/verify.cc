#include <algorithm>

#include "lib/netlink/kernel.h"
#include "lib/netlink/text.h"
#include "lib/podnet/commands.h"
#include "lib/podnet/kernel.h"
#include "lib/podnet/plan.h"

namespace rail::podnet {
namespace {

constexpr uint32_t kMainTable = 254;  // RT_TABLE_MAIN, rtnetlink(7)

// Collects what is wrong with one interface.
class Report {
 public:
  explicit Report(std::string ifname) : ifname_(std::move(ifname)), plain_(IsPlainWord(ifname_)) {}
  // What keeps packets from an address or from the pod, and what only makes them too big or lets them leave by another rail.
  void Cut(const std::string& what, std::string command) { Add(what, std::move(command), true); }
  void Differ(const std::string& what, std::string command) { Add(what, std::move(command), false); }
  const std::string& ifname() const { return ifname_; }
  std::vector<Deviation> Take() { return std::move(found_); }

 private:
  void Add(const std::string& what, std::string command, bool cuts) {
    found_.push_back({ifname_ + ": " + what, plain_ ? std::move(command) : "", cuts});
  }

  std::string ifname_;
  bool plain_;
  std::vector<Deviation> found_;
};

Status CheckSysctls(const Plan& plan, Report& report) {
  for (const auto& [key, value] : SysctlsOf(plan)) {
    const auto found = netns::ReadSysctl(key);
    if (!found && found.error().code == Code::kNotFound && value == "1" && key.ends_with("/disable_ipv6"))
      continue;
    if (!found) return tl::make_unexpected(found.error());
    if (*found == value) continue;
    const std::string what = "sysctl " + key + " is " + *found + " instead of " + value;
    // Without IPv6 the interface has no IPv6 address; the others say who else may answer.
    if (key.ends_with("/disable_ipv6") && value == "0") {
      report.Cut(what, CommandForSysctl(key, value));
    } else {
      report.Differ(what, CommandForSysctl(key, value));
    }
  }
  return {};
}

// A runtime may give the pod's default route to another interface (Multus' "default-route"). Then that route counts.
bool IsTakenOver(const netlink::Route& route, const std::vector<netlink::Route>& present) {
  if (route.destination.length != 0 || route.table != kMainTable) return false;
  return std::ranges::any_of(present, [&](const netlink::Route& other) {
    return other.destination == route.destination && other.link != route.link;
  });
}

Status CheckRoutes(netlink::Netlink& netlink, const Plan& plan, int link, Report& report) {
  // The routes of a plan are usually in two tables. Read each table once.
  std::vector<std::pair<uint32_t, std::vector<netlink::Route>>> tables;
  const auto is_there = [&](const netlink::Route& route) -> Result<bool> {
    auto table = std::ranges::find_if(tables, [&](const auto& entry) { return entry.first == route.table; });
    if (table == tables.end()) {
      RAIL_ASSIGN(auto routes, netlink.ListRoutes(route.table));
      table = tables.emplace(tables.end(), route.table, std::move(routes));
    }
    return HoldsRoute(plan, table->second, route) || IsTakenOver(route, table->second);
  };
  std::vector<netlink::Route> missing;
  for (const auto& route : RoutesOf(plan, link)) {
    RAIL_ASSIGN(const bool there, is_there(route));
    if (!there) missing.push_back(route);
  }
  // What the command for another route needs: the kernel finds its gateway by this one.
  for (const auto& route : GatewayRoutesOf(plan, link)) {
    const auto needs = [&](const netlink::Route& it) { return it.gateway == route.destination.address; };
    if (std::ranges::none_of(missing, [&](const auto& it) { return !it.onlink && needs(it); })) continue;
    RAIL_ASSIGN(const bool there, is_there(route));
    if (!there)
      report.Differ("route " + ToText(route) + " to the gateway is missing",
                    CommandFor(route, report.ifname()));
  }
  for (const auto& route : missing)
    report.Cut("route " + ToText(route) + " is missing or was changed", CommandFor(route, report.ifname()));
  return {};
}

Status CheckNeighbours(netlink::Netlink& netlink, const Plan& plan, int link, Report& report) {
  RAIL_ASSIGN(const auto neighbours, netlink.ListNeighbours(link));
  for (const IpAddress& gateway : NeighboursOf(plan)) {
    const auto found = std::ranges::find_if(neighbours, [&](const auto& n) { return n.address == gateway; });
    const std::string what = "the permanent neighbour entry of gateway " + gateway.ToString();
    const std::string command = CommandForNeighbour(gateway, plan.gateway_mac, report.ifname());
    if (found == neighbours.end() || !found->permanent) {
      report.Cut(what + " is missing", command);
    } else if (found->mac != plan.gateway_mac) {
      report.Cut(what + " is " + found->mac.ToString() + " instead of " + plan.gateway_mac.ToString(),
                 command);
    }
  }
  return {};
}

void CheckLink(const netlink::Link& link, const Plan& plan, Report& report) {
  const std::string set = "ip link set " + plan.ifname;
  if (!link.up) report.Cut("the interface is down", set + " up");
  if (plan.mtu != 0 && link.mtu != plan.mtu) {
    report.Differ("the MTU is " + std::to_string(link.mtu) + " instead of " + std::to_string(plan.mtu),
                  set + " mtu " + std::to_string(plan.mtu));
  }
  if (!plan.mac.is_zero() && link.mac != plan.mac) {
    report.Cut("the MAC address is " + link.mac.ToString() + " instead of " + plan.mac.ToString(),
               set + " address " + plan.mac.ToString());
  }
}

// In the order of Configure: what comes later needs what comes before.
Result<std::vector<Deviation>> VerifyHere(const Plan& plan) {
  Report report(plan.ifname);
  RAIL_ASSIGN(const auto netlink, netlink::Kernel::Open());
  const auto link = netlink->GetLink(plan.ifname);
  if (!link && link.error().code == Code::kNotFound) {
    report.Cut("there is no such interface in the pod", "");
    return report.Take();
  }
  if (!link) return tl::make_unexpected(link.error());

  RAIL_TRY(CheckSysctls(plan, report));
  CheckLink(*link, plan, report);
  RAIL_ASSIGN(const auto addresses, netlink->ListAddresses(link->index));
  for (const auto& address : AddressesOf(plan, link->index)) {
    if (!HoldsAddress(addresses, address))
      report.Cut("address " + address.prefix.ToString() + " is missing", CommandFor(address, plan.ifname));
  }
  RAIL_TRY(CheckNeighbours(*netlink, plan, link->index, report));
  RAIL_ASSIGN(const auto rules, netlink->ListRules());
  for (const auto& rule : RulesOf(plan)) {
    if (std::ranges::find(rules, rule) == rules.end())
      report.Cut("policy rule " + ToText(rule) + " is missing", CommandFor(rule));
  }
  RAIL_TRY(CheckRoutes(*netlink, plan, link->index, report));
  return report.Take();
}

}  // namespace

Result<std::vector<Deviation>> Kernel::Verify(const netns::Netns& pod, const Plan& plan) {
  RAIL_TRY(Validate(plan));
  std::vector<Deviation> found;
  const Status status = pod.Run([&]() -> Status {
    RAIL_ASSIGN(found, VerifyHere(plan));
    return {};
  });
  if (!status) return FailWrapped(status.error(), "check " + plan.ifname + " in the pod");
  return found;
}

}  // namespace rail::podnet
