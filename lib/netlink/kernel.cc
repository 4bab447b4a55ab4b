#include "lib/netlink/kernel.h"

#include <linux/fib_rules.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <cerrno>

#include "lib/netlink/builder.h"
#include "lib/netlink/decode.h"
#include "lib/netlink/netns.h"
#include "lib/netlink/text.h"

namespace rail::netlink {
namespace {

unsigned char FamilyOf(const IpAddress& address) {
  return address.is_v6() ? AF_INET6 : AF_INET;
}

Status CheckName(std::string_view name, std::string_view doing) {
  if (!name.empty() && name.size() < IFNAMSIZ && name.find('\0') == std::string_view::npos) return {};
  return Fail(Code::kInvalid, std::string(doing) + ": a link's name has 1 to 15 bytes, this one has " +
                                  std::to_string(name.size()));
}

Builder ChangeLink(int link) {
  return Builder(RTM_NEWLINK, 0, ifinfomsg{.ifi_index = link});
}

Builder ChangeFlags(int link, unsigned flags) {
  return Builder(RTM_NEWLINK, 0, ifinfomsg{.ifi_index = link, .ifi_flags = flags, .ifi_change = IFF_UP});
}

Builder AddressMessage(int type, int flags, const Address& address) {
  ifaddrmsg body{};
  body.ifa_family = FamilyOf(address.prefix.address);
  body.ifa_prefixlen = address.prefix.length;
  body.ifa_index = static_cast<uint32_t>(address.link);
  Builder message(type, flags, body);
  message.Ip(IFA_LOCAL, address.prefix.address).Ip(IFA_ADDRESS, address.prefix.address);
  return message;
}

Builder RouteMessage(int type, int flags, const Route& route) {
  const bool v6 = route.destination.address.is_v6();
  rtmsg body{};
  body.rtm_family = FamilyOf(route.destination.address);
  body.rtm_dst_len = route.destination.length;
  body.rtm_table = route.table < 256 ? static_cast<unsigned char>(route.table)
                                     : static_cast<unsigned char>(RT_TABLE_UNSPEC);
  body.rtm_protocol = RTPROT_STATIC;
  body.rtm_type = route.type;
  body.rtm_scope = route.link_scope && !v6 ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
  if (type == RTM_DELROUTE) body.rtm_protocol = RTPROT_UNSPEC;  // any: no matter who made the route
  if (route.onlink) body.rtm_flags = RTNH_F_ONLINK;

  Builder message(type, flags, body);
  message.Uint32(RTA_TABLE, route.table);
  if (route.destination.length > 0) message.Ip(RTA_DST, route.destination.address);
  if (route.link != 0) message.Uint32(RTA_OIF, static_cast<uint32_t>(route.link));
  if (route.priority != 0) message.Uint32(RTA_PRIORITY, route.priority);
  if (route.source) message.Ip(RTA_PREFSRC, *route.source);
  if (route.gateway && route.gateway->is_v6() == v6) message.Ip(RTA_GATEWAY, *route.gateway);
  if (route.gateway && route.gateway->is_v6() != v6) {
    const uint16_t family = FamilyOf(*route.gateway);
    std::string via(reinterpret_cast<const char*>(&family), sizeof family);
    message.Bytes(RTA_VIA, via.append(route.gateway->bytes()));
  }
  if (route.mtu != 0 || route.advmss != 0) {
    nlattr* metrics = message.Nest(RTA_METRICS);
    if (route.mtu != 0) message.Uint32(RTAX_MTU, route.mtu);
    if (route.advmss != 0) message.Uint32(RTAX_ADVMSS, route.advmss);
    message.EndNest(metrics);
  }
  return message;
}

Builder RuleMessage(int type, int flags, const PolicyRule& rule) {
  fib_rule_hdr body{};
  body.family = rule.v6 ? AF_INET6 : AF_INET;
  body.action = FR_ACT_TO_TBL;
  body.table = rule.table < 256 ? static_cast<uint8_t>(rule.table) : static_cast<uint8_t>(RT_TABLE_UNSPEC);
  if (rule.from) body.src_len = rule.from->length;
  Builder message(type, flags, body);
  message.Uint32(FRA_PRIORITY, rule.priority).Uint32(FRA_TABLE, rule.table);
  if (rule.from && rule.from->length > 0) message.Ip(FRA_SRC, rule.from->address);
  if (!rule.output_interface.empty()) message.String(FRA_OIFNAME, rule.output_interface);
  return message;
}

Status CheckFamily(const PolicyRule& rule, std::string_view doing) {
  if (!rule.from || rule.from->address.is_v6() == rule.v6) return {};
  return Fail(Code::kInvalid, std::string(doing) + ": the source is of the other address family");
}

// As List, without the values that `keep` refuses.
template <class Value, class Keep>
Result<std::vector<Value>> ListSome(Socket& socket, const Builder& message, std::string_view doing,
                                    std::optional<Value> (*decode)(std::string_view), const Keep& keep) {
  return List(socket, message, doing, [&](std::string_view bytes) {
    auto value = decode(bytes);
    if (value && !keep(*value)) value.reset();
    return value;
  });
}

Result<Link> AskLink(Socket& socket, Builder& message, const std::string& doing) {
  message.Uint32(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
  RAIL_ASSIGN(std::optional<Link> link, Ask(socket, message, doing, DecodeLink));
  if (!link) return Fail(Code::kInternal, doing + ": the kernel's answer holds no link");
  return std::move(*link);
}

// Finds a link by its name or by an alternative name, which may be longer.
Result<Link> LinkCalled(Socket& socket, std::string_view name) {
  Builder message(RTM_GETLINK, 0, ifinfomsg{});
  message.String(name.size() < IFNAMSIZ ? IFLA_IFNAME : IFLA_ALT_IFNAME, name);
  return AskLink(socket, message, "find link " + std::string(name));
}

std::string OfLink(int link) {
  return link == 0 ? "" : " of link " + std::to_string(link);
}

}  // namespace

Result<std::unique_ptr<Netlink>> Kernel::Open() {
  RAIL_ASSIGN(Socket socket, Socket::Open());
  return std::unique_ptr<Netlink>(new Kernel(std::move(socket)));
}

Result<Link> Kernel::GetLink(std::string_view name) {
  RAIL_TRY(CheckName(name, "find link " + std::string(name)));
  return LinkCalled(socket_, name);
}

Result<Link> Kernel::LinkAt(int index) {
  Builder message(RTM_GETLINK, 0, ifinfomsg{.ifi_index = index});
  return AskLink(socket_, message, "look at link " + std::to_string(index));
}

Status Kernel::DropAltname(int link, std::string_view name) {
  Builder message(RTM_DELLINKPROP, 0, ifinfomsg{.ifi_index = link});
  nlattr* properties = message.Nest(IFLA_PROP_LIST);
  message.String(IFLA_ALT_IFNAME, name);
  message.EndNest(properties);
  return Run(socket_, message,
             "drop the alternative name " + std::string(name) + " of link " + std::to_string(link));
}

Result<std::vector<Link>> Kernel::ListLinks() {
  Builder message(RTM_GETLINK, 0, ifinfomsg{});
  message.Uint32(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
  return List(socket_, message, "list links", DecodeLink);
}

Status Kernel::SetUp(int link) {
  return Run(socket_, ChangeFlags(link, IFF_UP), "set link " + std::to_string(link) + " up");
}

Status Kernel::SetDown(int link) {
  return Run(socket_, ChangeFlags(link, 0), "set link " + std::to_string(link) + " down");
}

Status Kernel::SetMtu(int link, uint32_t mtu) {
  return Run(socket_, ChangeLink(link).Uint32(IFLA_MTU, mtu),
             "set the MTU of link " + std::to_string(link) + " to " + std::to_string(mtu));
}

Status Kernel::SetMac(int link, const MacAddress& mac) {
  return Run(socket_, ChangeLink(link).Mac(IFLA_ADDRESS, mac),
             "set the MAC address of link " + std::to_string(link) + " to " + mac.ToString());
}

Status Kernel::Rename(int link, std::string_view name) {
  const std::string doing = "rename link " + std::to_string(link) + " to " + std::string(name);
  RAIL_TRY(CheckName(name, doing));
  const auto rename = [&] { return Run(socket_, ChangeLink(link).String(IFLA_IFNAME, name), doing); };
  Status renamed = rename();
  if (renamed || renamed.error().code != Code::kExists) return renamed;
  const auto holder = GetLink(name);
  if (!holder || holder->index != link) return renamed;
  RAIL_TRY_AS(DropAltname(link, name), doing);
  return rename();
}

Status Kernel::MoveLink(int link, int netns_fd, std::string_view name) {
  const std::string doing =
      "move link " + std::to_string(link) + " to another namespace as " + std::string(name);
  RAIL_TRY(CheckName(name, doing));
  // The kernel moves the link first and only then refuses a name that is taken: the link would stay there under its old name. So
  // check the name before.
  RAIL_ASSIGN_AS(const netns::Netns there, netns::Netns::Open("/proc/self/fd/" + std::to_string(netns_fd)),
                 doing);
  RAIL_ASSIGN_AS(const Link moving, LinkAt(link), doing);
  std::vector<std::string> colliding;
  RAIL_TRY_AS(there.Run([&]() -> Status {
    RAIL_ASSIGN(Socket socket, Socket::Open());
    const auto is_taken = [&](std::string_view wanted) -> Result<bool> {
      const auto holder = LinkCalled(socket, wanted);
      if (!holder && holder.error().code != Code::kNotFound) return tl::make_unexpected(holder.error());
      return holder.has_value();
    };
    RAIL_ASSIGN(const bool taken, is_taken(name));
    if (taken) return FailErrno(EEXIST, "the name");
    for (const std::string& altname : moving.altnames) {
      RAIL_ASSIGN(const bool taken_too, is_taken(altname));
      if (taken_too || altname == name) colliding.push_back(altname);
    }
    return {};
  }),
              doing);
  for (const std::string& altname : colliding) RAIL_TRY_AS(DropAltname(link, altname), doing);
  return Run(
      socket_,
      ChangeLink(link).Uint32(IFLA_NET_NS_FD, static_cast<uint32_t>(netns_fd)).String(IFLA_IFNAME, name),
      doing);
}

Status Kernel::AddVrf(std::string_view name, uint32_t table) {
  const std::string doing = "make the VRF " + std::string(name) + " with table " + std::to_string(table);
  RAIL_TRY(CheckName(name, doing));
  Builder message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, ifinfomsg{});
  message.String(IFLA_IFNAME, name);
  nlattr* info = message.Nest(IFLA_LINKINFO);
  message.String(IFLA_INFO_KIND, "vrf");
  nlattr* data = message.Nest(IFLA_INFO_DATA);
  message.Uint32(IFLA_VRF_TABLE, table);
  message.EndNest(data);
  message.EndNest(info);
  return Run(socket_, message, doing);
}

Status Kernel::SetMaster(int link, int master) {
  return Run(socket_, ChangeLink(link).Uint32(IFLA_MASTER, static_cast<uint32_t>(master)),
             "make link " + std::to_string(link) + " a part of link " + std::to_string(master));
}

Status Kernel::DeleteLink(int link) {
  return Run(socket_, Builder(RTM_DELLINK, 0, ifinfomsg{.ifi_index = link}),
             "delete link " + std::to_string(link));
}

Status Kernel::AddAddress(const Address& address) {
  Builder message = AddressMessage(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, address);
  if (address.prefix.address.is_v6()) message.Uint32(IFA_FLAGS, IFA_F_NODAD);
  return Run(socket_, message, "add address " + ToText(address));
}

Status Kernel::DeleteAddress(const Address& address) {
  Status status = Run(socket_, AddressMessage(RTM_DELADDR, 0, address), "delete address " + ToText(address));
  if (!status && status.error().sys_errno == EADDRNOTAVAIL) status.error().code = Code::kNotFound;
  return status;
}

Result<std::vector<Address>> Kernel::ListAddresses(int link) {
  ifaddrmsg body{};
  body.ifa_index = static_cast<uint32_t>(link);
  return ListSome<Address>(socket_, Builder(RTM_GETADDR, 0, body), "list addresses" + OfLink(link),
                           DecodeAddress,
                           [&](const Address& address) { return link == 0 || address.link == link; });
}

Status Kernel::AddRoute(const Route& route) {
  return Run(socket_, RouteMessage(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, route),
             "add route " + ToText(route));
}

Status Kernel::DeleteRoute(const Route& route) {
  return Run(socket_, RouteMessage(RTM_DELROUTE, 0, route), "delete route " + ToText(route));
}

Result<std::vector<Route>> Kernel::ListRoutes(uint32_t table) {
  std::vector<Route> routes;
  for (const bool v6 : {false, true}) {
    rtmsg body{};
    body.rtm_family = v6 ? AF_INET6 : AF_INET;
    body.rtm_table =
        table < 256 ? static_cast<unsigned char>(table) : static_cast<unsigned char>(RT_TABLE_UNSPEC);
    Builder message(RTM_GETROUTE, 0, body);
    message.Uint32(RTA_TABLE, table);
    auto some = ListSome<Route>(socket_, message, "list routes of table " + std::to_string(table),
                                DecodeRoute, [&](const Route& route) { return route.table == table; });
    if (!some && some.error().code == Code::kNotFound) continue;  // no such table
    if (!some && some.error().sys_errno == EOPNOTSUPP) continue;  // a kernel without IPv6
    if (!some) return some;
    routes.insert(routes.end(), some->begin(), some->end());
  }
  return routes;
}

Status Kernel::AddRule(const PolicyRule& rule) {
  const std::string doing = "add rule " + ToText(rule);
  RAIL_TRY(CheckFamily(rule, doing));
  return Run(socket_, RuleMessage(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, rule), doing);
}

Status Kernel::DeleteRule(const PolicyRule& rule) {
  const std::string doing = "delete rule " + ToText(rule);
  RAIL_TRY(CheckFamily(rule, doing));
  return Run(socket_, RuleMessage(RTM_DELRULE, 0, rule), doing);
}

Result<std::vector<PolicyRule>> Kernel::ListRules() {
  return List(socket_, Builder(RTM_GETRULE, 0, fib_rule_hdr{}), "list rules", DecodeRule);
}

Status Kernel::SetPermanentNeighbour(int link, const IpAddress& address, const MacAddress& mac) {
  ndmsg body{};
  body.ndm_family = FamilyOf(address);
  body.ndm_ifindex = link;
  body.ndm_state = NUD_PERMANENT;
  Builder message(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, body);
  message.Ip(NDA_DST, address).Mac(NDA_LLADDR, mac);
  return Run(
      socket_, message,
      "set neighbour " + address.ToString() + " on link " + std::to_string(link) + " to " + mac.ToString());
}

Result<std::vector<Neighbour>> Kernel::ListNeighbours(int link) {
  Builder message(RTM_GETNEIGH, 0, ndmsg{});
  if (link != 0) message.Uint32(NDA_IFINDEX, static_cast<uint32_t>(link));
  return ListSome<Neighbour>(socket_, message, "list neighbours" + OfLink(link), DecodeNeighbour,
                             [&](const Neighbour& neighbour) { return link == 0 || neighbour.link == link; });
}

}  // namespace rail::netlink
