#include "lib/netlink/drop_rule.h"

#include <arpa/inet.h>
#include <endian.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/xt_tcpudp.h>

#include <map>
#include <utility>

#include "lib/netlink/attributes.h"
#include "lib/netlink/builder.h"

namespace rail::netlink {
namespace {

constexpr uint16_t kBgpPort = 179;  // RFC 4271

constexpr int TypeOf(int message) {
  return (NFNL_SUBSYS_NFTABLES << 8) | message;
}

std::string FamilyOf(uint8_t family) {
  static const std::map<uint8_t, std::string> names = {
      {NFPROTO_IPV4, "ip"}, {NFPROTO_IPV6, "ip6"},      {NFPROTO_INET, "inet"},
      {NFPROTO_ARP, "arp"}, {NFPROTO_BRIDGE, "bridge"}, {NFPROTO_NETDEV, "netdev"}};
  const auto found = names.find(family);
  return found == names.end() ? std::to_string(family) : found->second;
}

std::optional<uint64_t> BigEndian64(std::string_view bytes) {
  uint64_t value = 0;
  if (bytes.size() != sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data(), sizeof value);
  return be64toh(value);
}

bool IsDrop(const Attributes<NFTA_IMMEDIATE_MAX>& immediate) {
  const auto verdict =
      immediate.Nested<NFTA_DATA_MAX>(NFTA_IMMEDIATE_DATA).Nested<NFTA_VERDICT_MAX>(NFTA_DATA_VERDICT);
  const auto code = verdict.Uint32(NFTA_VERDICT_CODE);
  return code && ntohl(*code) == NF_DROP;
}

bool AsksForLink(const Attributes<NFTA_META_MAX>& meta) {
  const auto key = meta.Uint32(NFTA_META_KEY);
  return key && (ntohl(*key) == NFT_META_IIFNAME || ntohl(*key) == NFT_META_OIFNAME);
}

// A port stands in a comparison in network byte order.
bool IsBgpPort(std::string_view value) {
  const uint16_t port = htons(kBgpPort);
  return value.size() == sizeof port && std::memcmp(value.data(), &port, sizeof port) == 0;
}

// iptables' match "tcp": ranges of ports in the host's byte order, 0 to 65535 where it asks for none.
bool AsksForBgp(const Attributes<NFTA_MATCH_MAX>& match) {
  xt_tcp ports{};
  const std::string_view info = match.Bytes(NFTA_MATCH_INFO);
  if (match.String(NFTA_MATCH_NAME) != "tcp" || info.size() < sizeof ports) return false;
  std::memcpy(&ports, info.data(), sizeof ports);
  const auto is = [](const uint16_t(&range)[2]) { return range[0] == kBgpPort && range[1] == kBgpPort; };
  return is(ports.spts) || is(ports.dpts);
}

}  // namespace

std::string DropRule::ToText() const {
  std::string text =
      "rule " + std::to_string(handle) + " of chain " + chain + " of table " + family + " " + table;
  if (packets) text += " (" + std::to_string(*packets) + (*packets == 1 ? " packet)" : " packets)");
  return text;
}

std::optional<DropRule> DecodeDropRule(std::string_view message) {
  Attributes<NFTA_RULE_MAX> attributes;
  const auto* body = Parse<nfgenmsg>(message, TypeOf(NFT_MSG_NEWRULE), attributes);
  if (body == nullptr || !attributes.Has(NFTA_RULE_EXPRESSIONS)) return std::nullopt;
  DropRule rule{.family = FamilyOf(body->nfgen_family),
                .table = attributes.String(NFTA_RULE_TABLE),
                .chain = attributes.String(NFTA_RULE_CHAIN),
                .handle = BigEndian64(attributes.Bytes(NFTA_RULE_HANDLE)).value_or(0),
                .packets = {}};
  bool drops = false;
  bool of_link = false;  // the comparison that comes next is with a link's name
  int left = 0;
  nlattr* each = nullptr;
  nla_for_each_nested(each, attributes.raw(NFTA_RULE_EXPRESSIONS), left) {
    Attributes<NFTA_EXPR_MAX> expression;
    if (nla_type(each) != NFTA_LIST_ELEM ||
        nla_parse_nested(expression.table(), NFTA_EXPR_MAX, each, nullptr) < 0)
      continue;
    const std::string name = expression.String(NFTA_EXPR_NAME);
    if (name == "reject") {
      drops = true;
    } else if (name == "target") {  // iptables' own
      const auto target = expression.Nested<NFTA_TARGET_MAX>(NFTA_EXPR_DATA).String(NFTA_TARGET_NAME);
      drops = drops || target == "REJECT" || target == "DROP";
    } else if (name == "immediate") {
      drops = drops || IsDrop(expression.Nested<NFTA_IMMEDIATE_MAX>(NFTA_EXPR_DATA));
    } else if (name == "counter") {
      rule.packets =
          BigEndian64(expression.Nested<NFTA_COUNTER_MAX>(NFTA_EXPR_DATA).Bytes(NFTA_COUNTER_PACKETS));
    } else if (name == "meta") {
      of_link = AsksForLink(expression.Nested<NFTA_META_MAX>(NFTA_EXPR_DATA));
    } else if (name == "cmp") {
      const std::string_view value = expression.Nested<NFTA_CMP_MAX>(NFTA_EXPR_DATA)
                                         .Nested<NFTA_DATA_MAX>(NFTA_CMP_DATA)
                                         .Bytes(NFTA_DATA_VALUE);
      rule.names_bgp = rule.names_bgp || IsBgpPort(value);
      if (std::exchange(of_link, false)) rule.links.emplace_back(value.substr(0, value.find('\0')));
    } else if (name == "match") {
      rule.names_bgp = rule.names_bgp || AsksForBgp(expression.Nested<NFTA_MATCH_MAX>(NFTA_EXPR_DATA));
    }
  }
  if (!drops) return std::nullopt;
  return rule;
}

Result<std::vector<DropRule>> ListDropRules() {
  const std::string doing = "list the rules of nftables";
  RAIL_ASSIGN_AS(Socket socket, Socket::Open(NETLINK_NETFILTER), doing);
  const Builder message(TypeOf(NFT_MSG_GETRULE), 0,
                        nfgenmsg{.nfgen_family = NFPROTO_UNSPEC, .version = NFNETLINK_V0, .res_id = 0});
  return List(socket, message, doing, DecodeDropRule);
}

}  // namespace rail::netlink
