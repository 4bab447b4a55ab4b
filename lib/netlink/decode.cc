#include "lib/netlink/decode.h"

#include <linux/fib_rules.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <cstring>

#include "lib/netlink/attributes.h"

namespace rail::netlink {
namespace {

constexpr uint32_t kIpv6DefaultMetric = 1024;

// Without an address, the prefix of length 0.
std::optional<IpPrefix> Prefix(const std::optional<IpAddress>& address, uint8_t length, bool v6) {
  if (length > (v6 ? 128 : 32)) return std::nullopt;
  if (address) return address->is_v6() == v6 ? std::optional(IpPrefix{*address, length}) : std::nullopt;
  static constexpr char kZeros[16] = {};
  return IpPrefix{*IpAddress::FromBytes({kZeros, v6 ? 16U : 4U}), length};
}

void DecodeMetrics(nlattr* nested, Route& route) {
  Attributes<RTAX_MAX> metrics;
  if (nested == nullptr || nla_parse_nested(metrics.table(), RTAX_MAX, nested, nullptr) < 0) return;
  route.mtu = metrics.Uint32Or(RTAX_MTU, 0);
  route.advmss = metrics.Uint32Or(RTAX_ADVMSS, 0);
}

// RTA_VIA: the family as uint16, then the address.
std::optional<IpAddress> Via(std::string_view bytes) {
  if (bytes.size() < sizeof(uint16_t)) return std::nullopt;
  auto address = IpAddress::FromBytes(bytes.substr(sizeof(uint16_t)));
  return address ? std::optional(*address) : std::nullopt;
}

}  // namespace

std::optional<Link> DecodeLink(std::string_view message) {
  Attributes<IFLA_MAX> attributes;
  const auto* body = Parse<ifinfomsg>(message, RTM_NEWLINK, attributes);
  if (body == nullptr || body->ifi_family != AF_UNSPEC) return std::nullopt;
  Link link;
  link.index = body->ifi_index;
  link.name = attributes.String(IFLA_IFNAME);
  link.mac = attributes.Mac(IFLA_ADDRESS);
  link.mtu = attributes.Uint32Or(IFLA_MTU, 0);
  link.max_mtu = attributes.Uint32Or(IFLA_MAX_MTU, 0);
  link.up = (body->ifi_flags & IFF_UP) != 0;
  link.carrier = (body->ifi_flags & IFF_LOWER_UP) != 0;
  link.carrier_losses = attributes.Uint32Or(IFLA_CARRIER_DOWN_COUNT, 0);
  link.peer = static_cast<int>(attributes.Uint32Or(IFLA_LINK, 0));
  link.master = static_cast<int>(attributes.Uint32Or(IFLA_MASTER, 0));
  link.peer_elsewhere = attributes.Has(IFLA_LINK_NETNSID);
  link.permanent_mac = attributes.Mac(IFLA_PERM_ADDRESS);
  link.parent_device = attributes.String(IFLA_PARENT_DEV_NAME);
  if (nlattr* properties = attributes.raw(IFLA_PROP_LIST)) {
    int left = nla_len(properties);
    for (auto* one = static_cast<nlattr*>(nla_data(properties)); nla_ok(one, left);
         one = nla_next(one, &left)) {
      if (nla_type(one) != IFLA_ALT_IFNAME) continue;
      const std::string_view bytes{static_cast<const char*>(nla_data(one)),
                                   static_cast<size_t>(nla_len(one))};
      link.altnames.emplace_back(bytes.substr(0, bytes.find('\0')));
    }
  }
  Attributes<IFLA_INFO_MAX> info;
  if (attributes.Has(IFLA_LINKINFO) &&
      nla_parse_nested(info.table(), IFLA_INFO_MAX, attributes.raw(IFLA_LINKINFO), nullptr) >= 0) {
    link.kind = info.String(IFLA_INFO_KIND);
    Attributes<IFLA_VRF_MAX> vrf;
    if (link.kind == "vrf" && info.Has(IFLA_INFO_DATA) &&
        nla_parse_nested(vrf.table(), IFLA_VRF_MAX, info.raw(IFLA_INFO_DATA), nullptr) >= 0)
      link.table = vrf.Uint32Or(IFLA_VRF_TABLE, 0);
  }
  return link;
}

std::optional<Address> DecodeAddress(std::string_view message) {
  Attributes<IFA_MAX> attributes;
  const auto* body = Parse<ifaddrmsg>(message, RTM_NEWADDR, attributes);
  if (body == nullptr || (body->ifa_family != AF_INET && body->ifa_family != AF_INET6)) return std::nullopt;
  // On a point-to-point link IFA_ADDRESS is the other end.
  auto ip = attributes.Ip(IFA_LOCAL);
  if (!ip) ip = attributes.Ip(IFA_ADDRESS);
  if (!ip) return std::nullopt;
  const auto prefix = Prefix(ip, body->ifa_prefixlen, body->ifa_family == AF_INET6);
  if (!prefix) return std::nullopt;
  return Address{static_cast<int>(body->ifa_index), *prefix, (body->ifa_flags & IFA_F_PERMANENT) == 0};
}

std::optional<Route> DecodeRoute(std::string_view message) {
  Attributes<RTA_MAX> attributes;
  const auto* body = Parse<rtmsg>(message, RTM_NEWROUTE, attributes);
  if (body == nullptr || (body->rtm_family != AF_INET && body->rtm_family != AF_INET6)) return std::nullopt;
  if ((body->rtm_flags & RTM_F_CLONED) != 0) return std::nullopt;
  const bool v6 = body->rtm_family == AF_INET6;
  const auto destination = Prefix(attributes.Ip(RTA_DST), body->rtm_dst_len, v6);
  if (!destination) return std::nullopt;

  Route route;
  route.type = body->rtm_type;
  route.destination = *destination;
  route.gateway = attributes.Has(RTA_VIA) ? Via(attributes.Bytes(RTA_VIA)) : attributes.Ip(RTA_GATEWAY);
  route.link = static_cast<int>(attributes.Uint32Or(RTA_OIF, 0));
  route.onlink = (body->rtm_flags & RTNH_F_ONLINK) != 0;
  route.table = attributes.Uint32Or(RTA_TABLE, body->rtm_table);
  route.priority = attributes.Uint32Or(RTA_PRIORITY, 0);
  if (v6 && route.priority == kIpv6DefaultMetric) route.priority = 0;
  route.source = attributes.Ip(RTA_PREFSRC);
  // IPv6 routes have no scope: the kernel always says universe.
  route.link_scope = v6 ? !route.gateway : body->rtm_scope == RT_SCOPE_LINK;
  DecodeMetrics(attributes.raw(RTA_METRICS), route);
  return route;
}

std::optional<PolicyRule> DecodeRule(std::string_view message) {
  Attributes<FRA_MAX> attributes;
  const auto* body = Parse<fib_rule_hdr>(message, RTM_NEWRULE, attributes);
  if (body == nullptr || (body->family != AF_INET && body->family != AF_INET6)) return std::nullopt;
  if (body->action != FR_ACT_TO_TBL) return std::nullopt;
  PolicyRule rule;
  rule.v6 = body->family == AF_INET6;
  rule.priority = attributes.Uint32Or(FRA_PRIORITY, 0);
  rule.table = attributes.Uint32Or(FRA_TABLE, body->table);
  rule.output_interface = attributes.String(FRA_OIFNAME);
  if (attributes.Has(FRA_SRC)) rule.from = Prefix(attributes.Ip(FRA_SRC), body->src_len, rule.v6);
  return rule;
}

std::optional<Neighbour> DecodeNeighbour(std::string_view message) {
  Attributes<NDA_MAX> attributes;
  const auto* body = Parse<ndmsg>(message, RTM_NEWNEIGH, attributes);
  if (body == nullptr || (body->ndm_family != AF_INET && body->ndm_family != AF_INET6)) return std::nullopt;
  if ((body->ndm_flags & NTF_PROXY) != 0) return std::nullopt;
  const auto ip = attributes.Ip(NDA_DST);
  if (!ip) return std::nullopt;
  Neighbour neighbour;
  neighbour.address = *ip;
  neighbour.mac = attributes.Mac(NDA_LLADDR);
  neighbour.link = body->ndm_ifindex;
  neighbour.permanent = (body->ndm_state & NUD_PERMANENT) != 0;
  constexpr int kUsable = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT;
  neighbour.usable = (body->ndm_state & kUsable) != 0;
  neighbour.router = (body->ndm_flags & NTF_ROUTER) != 0;
  return neighbour;
}

std::optional<Verdict> DecodeVerdict(std::string_view message) {
  nlmsghdr* header = Header(message);
  if (header == nullptr) return std::nullopt;
  const bool is_error = header->nlmsg_type == NLMSG_ERROR;
  if (!is_error && header->nlmsg_type != NLMSG_DONE) return std::nullopt;
  message = message.substr(NLMSG_HDRLEN, header->nlmsg_len - NLMSG_HDRLEN);

  Verdict verdict;
  int32_t error = 0;
  if (message.size() < sizeof error) return is_error ? std::nullopt : std::optional(verdict);
  std::memcpy(&error, message.data(), sizeof error);
  verdict.sys_errno = -error;
  if ((header->nlmsg_flags & NLM_F_ACK_TLVS) == 0) return verdict;

  // In a dump's NLMSG_DONE the attributes follow the error number. In an NLMSG_ERROR they follow the header of the refused request
  // and, unless capped, its body.
  size_t skip = sizeof error;
  if (is_error) {
    if (message.size() < sizeof(nlmsgerr)) return verdict;
    nlmsghdr request;
    std::memcpy(&request, message.data() + sizeof error, sizeof request);
    skip = sizeof(nlmsgerr);
    if ((header->nlmsg_flags & NLM_F_CAPPED) == 0 && request.nlmsg_len > sizeof request) {
      skip += NLMSG_ALIGN(request.nlmsg_len - sizeof request);
    }
  }
  if (skip >= message.size()) return verdict;
  message.remove_prefix(skip);
  Attributes<NLMSGERR_ATTR_MAX> attributes;
  auto* first = reinterpret_cast<nlattr*>(const_cast<char*>(message.data()));
  if (nla_parse(attributes.table(), NLMSGERR_ATTR_MAX, first, static_cast<int>(message.size()), nullptr) >=
      0) {
    verdict.text = attributes.String(NLMSGERR_ATTR_MSG);
  }
  return verdict;
}

}  // namespace rail::netlink
