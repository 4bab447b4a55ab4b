#include "lib/netlink/exits.h"

#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>
#include <map>
#include <vector>

#include "lib/netlink/attributes.h"
#include "lib/netlink/builder.h"
#include "lib/netlink/socket.h"

namespace rail::netlink {
namespace {

constexpr unsigned kCarriesNothing = RTNH_F_DEAD | RTNH_F_LINKDOWN;

// What a route says of where it goes out.
struct Ways {
  std::set<int> links;      // indexes
  std::set<uint32_t> hops;  // nexthop objects, where the route does not name links (nexthop_compat_mode of 0)
  uint8_t protocol = 0;
};

void AddHops(std::string_view bytes, std::set<int>& links) {
  while (bytes.size() >= sizeof(rtnexthop)) {
    rtnexthop hop;
    std::memcpy(&hop, bytes.data(), sizeof hop);
    if (hop.rtnh_len < sizeof hop || hop.rtnh_len > bytes.size()) return;
    if ((hop.rtnh_flags & kCarriesNothing) == 0) links.insert(hop.rtnh_ifindex);
    bytes.remove_prefix(std::min<size_t>(bytes.size(), RTNH_ALIGN(hop.rtnh_len)));
  }
}

bool IsRouteTo(const IpPrefix& prefix, const rtmsg& route, const Attributes<RTA_MAX>& attributes) {
  if (route.rtm_type != RTN_UNICAST || route.rtm_dst_len != prefix.length || route.rtm_src_len != 0 ||
      (route.rtm_flags & RTM_F_CLONED) != 0 ||
      attributes.Uint32Or(RTA_TABLE, route.rtm_table) != RT_TABLE_MAIN)
    return false;
  return prefix.length == 0 || attributes.Ip(RTA_DST) == prefix.address;
}

// By metric, since IPv6 has none of its own where nobody gives one.
Result<std::map<uint32_t, Ways>> RoutesTo(Socket& socket, const IpPrefix& prefix) {
  std::map<uint32_t, Ways> routes;
  const rtmsg header{.rtm_family = static_cast<uint8_t>(prefix.address.is_v6() ? AF_INET6 : AF_INET)};
  const Builder request(RTM_GETROUTE, NLM_F_DUMP, header);
  constexpr char kDoing[] = "list the host's routes";
  RAIL_TRY(request.Check(kDoing));
  const auto read = [&](std::string_view message) {
    Attributes<RTA_MAX> attributes;
    const auto* route = Parse<rtmsg>(message, RTM_NEWROUTE, attributes);
    if (route == nullptr || !IsRouteTo(prefix, *route, attributes)) return;
    Ways& ways = routes[attributes.Uint32Or(RTA_PRIORITY, 0)];
    ways.protocol = route->rtm_protocol;
    if (attributes.Has(RTA_MULTIPATH)) {
      AddHops(attributes.Bytes(RTA_MULTIPATH), ways.links);
    } else if (const auto link = attributes.Uint32(RTA_OIF)) {
      if ((route->rtm_flags & kCarriesNothing) == 0) ways.links.insert(static_cast<int>(*link));
    } else if (const auto hop = attributes.Uint32(RTA_NH_ID)) {
      ways.hops.insert(*hop);
    }
  };
  RAIL_TRY(socket.Dump(request.get(), kDoing, read, [&] { routes.clear(); }));
  return routes;
}

// Adds the links of a nexthop object. Of a group: `members`, which are no groups themselves.
Status LookUpHop(Socket& socket, uint32_t id, std::set<int>& links, std::vector<uint32_t>& members) {
  constexpr char kDoing[] = "read a next hop of the host";
  Builder request(RTM_GETNEXTHOP, 0, nhmsg{.nh_family = AF_UNSPEC});
  request.Uint32(NHA_ID, id);
  RAIL_TRY(request.Check(kDoing));
  return socket.Request(request.get(), kDoing, [&](std::string_view message) {
    Attributes<NHA_MAX> attributes;
    const auto* hop = Parse<nhmsg>(message, RTM_NEWNEXTHOP, attributes);
    if (hop == nullptr) return;
    if (const auto link = attributes.Uint32(NHA_OIF); link && (hop->nh_flags & kCarriesNothing) == 0)
      links.insert(static_cast<int>(*link));
    std::string_view group = attributes.Bytes(NHA_GROUP);
    for (; group.size() >= sizeof(nexthop_grp); group.remove_prefix(sizeof(nexthop_grp))) {
      nexthop_grp member;
      std::memcpy(&member, group.data(), sizeof member);
      members.push_back(member.id);
    }
  });
}

// One that has gone since is none.
Status LookUpHops(Socket& socket, const std::set<uint32_t>& hops, std::set<int>& links) {
  std::vector<uint32_t> members(hops.begin(), hops.end());
  for (int depth = 0; depth < 2 && !members.empty(); ++depth) {
    std::vector<uint32_t> next;
    for (const uint32_t id : members) {
      const Status looked = LookUpHop(socket, id, links, next);
      if (!looked && looked.error().code != Code::kNotFound) return looked;
    }
    members = std::move(next);
  }
  return {};
}

}  // namespace

Result<Exits> ExitsOf(const IpPrefix& prefix) {
  RAIL_ASSIGN(Socket socket, Socket::Open());
  RAIL_ASSIGN(auto routes, RoutesTo(socket, prefix));
  if (routes.empty()) return Exits();
  Ways& ways = routes.begin()->second;
  RAIL_TRY(LookUpHops(socket, ways.hops, ways.links));
  Exits exits{.protocol = ways.protocol};
  for (const int link : ways.links) {
    char name[IF_NAMESIZE];
    if (::if_indextoname(static_cast<unsigned>(link), name) != nullptr) exits.links.insert(name);
  }
  return exits;
}

}  // namespace rail::netlink
