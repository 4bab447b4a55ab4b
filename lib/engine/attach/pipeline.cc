#include "lib/engine/attach/pipeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>

namespace rail::pipeline {
namespace {

using ovs::Cookie;
using ovs::CookieKind;
using ovs::Rule;

// Priorities, highest first. Each question has one number, the same in every table, so that the shape of a table never changes.
constexpr uint16_t kControl = 300;
constexpr uint16_t kTagged = 200;
constexpr uint16_t kUnknown = 200;
constexpr uint16_t kExact = 100;
constexpr uint16_t kNotElsewhere = 20;
constexpr uint16_t kElsewhere = 10;
constexpr uint16_t kOther = 1;
constexpr uint16_t kMiss = 0;

// Pods send untagged frames only. Without this match, an 802.1Q header would pass with an admitted inner packet. The mask covers
// exactly what OpenFlow 1.5 asks of a frame without a tag, which tc can offload. Megaflows of untagged frames match on it anyway.
constexpr char kUntagged[] = "vlan_tci=0x0000/0x1fff";

constexpr char kToRefuse[] = "resubmit(,6)";
// It comes back: the next action follows.
constexpr char kAskRemotes[] = "resubmit(,7),";

constexpr uint16_t kVlanPresent = 0x1000;  // of vlan_vid (OpenFlow 1.5, OFPVID_PRESENT)

// Mode `vrf`: which VLAN a packet is of, from the moment when it has no tag on, until it gets one again.
constexpr char kVlanRegister[] = "reg8";

// Where the ids of a packet's ends are: the first of the four registers of each.
constexpr int kSource = 0;       // xxreg0
constexpr int kDestination = 4;  // xxreg1
constexpr int kDestinationLeaving =
    8;  // xxreg2: the tenant that it is leaving. Mode `vrf`, where nothing leaves, has the VLAN there
constexpr int kSourceLeaving = 12;  // xxreg3

const char* Family(const IpAddress& address) {
  return address.is_v6() ? "ipv6" : "ip";
}
const char* Source(const IpAddress& address) {
  return address.is_v6() ? "ipv6_src" : "nw_src";
}
const char* Destination(const IpAddress& address) {
  return address.is_v6() ? "ipv6_dst" : "nw_dst";
}

std::string Hex(tenancy::TenantId id) {
  return id.high == 0 ? fmt::format("{:#x}", id.low) : fmt::format("{:#x}{:014x}", id.high, id.low);
}

// What follows the family in a match: "" without a VLAN, else ",reg8=0x65".
std::string OfVlan(uint16_t vlan) {
  return vlan == config::kNoVlan ? "" : fmt::format(",{}={:#x}", kVlanRegister, vlan);
}

std::string SetVlan(uint16_t vlan) {
  return fmt::format("set_field:{:#x}->{}", vlan, kVlanRegister);
}

std::string OutputTagged(uint16_t vlan, uint16_t port) {
  return fmt::format("push_vlan:0x8100,set_field:{}->vlan_vid,output:{}", vlan | kVlanPresent, port);
}

// Writes an end's ids: "set_field:0x2a->xxreg0", and the same for the tenant that it is leaving.
std::string SetTenants(const BridgeFacts& bridge, const TenantIds& tenants, int first, int first_leaving) {
  std::string text = fmt::format("set_field:{}->xxreg{}", Hex(tenants.tenant), first / 4);
  if (!tenants.leaving.is_none() && bridge.vlans.empty())
    text += fmt::format(",set_field:{}->xxreg{}", Hex(tenants.leaving), first_leaving / 4);
  return text;
}
std::string SetSource(const BridgeFacts& bridge, const TenantIds& tenants) {
  return SetTenants(bridge, tenants, kSource, kSourceLeaving);
}
std::string SetDestination(const BridgeFacts& bridge, const TenantIds& tenants) {
  return SetTenants(bridge, tenants, kDestination, kDestinationLeaving);
}

// Matches the id in the 128-bit register that begins with `first`, in the form in which the switch prints it.
std::string Registers(int first, tenancy::TenantId id) {
  const std::array<uint64_t, 4> words = {id.high >> 40, id.high >> 8 & 0xffffffff,
                                         (id.high & 0xff) << 24 | id.low >> 32, id.low & 0xffffffff};
  std::string text;
  for (const uint64_t word : words)
    text += fmt::format("{}reg{}={}{:x}", text.empty() ? "" : ",", first++, word == 0 ? "" : "0x", word);
  return text;
}

// Whose the end of a packet is that is on another node: xxreg1, and xxreg2 for a tenant that it leaves. Table 7 asks for a source, since
// only what the uplink brings has addresses that nobody has asked for before: few bits of them say so (TrackedPrefixes). A pod's
// destination is asked for in the place of the source, all of whose bits table 5 has matched.
std::vector<Rule> ElsewhereRules(const BridgeFacts& bridge) {
  const uint64_t cookie = Cookie(CookieKind::kPipeline, 0);
  const std::string from_uplink = fmt::format("in_port={}", bridge.uplink_port);
  std::string its_source = "move:NXM_NX_XXREG1[]->NXM_NX_XXREG0[],";
  if (bridge.vlans.empty()) its_source += "move:NXM_NX_XXREG2[]->NXM_NX_XXREG3[],set_field:0->xxreg2,";
  std::vector<Rule> rules = {
      {kSourceTable, kElsewhere, cookie, from_uplink, kAskRemotes + its_source + "resubmit(,2)"},
      {kDestinationTable, kNotElsewhere, cookie, from_uplink, "drop"},
      {kCompareTable, kUnknown, cookie, Registers(kSource, {}), "drop"},
      {kCompareTable, kUnknown, cookie, Registers(kDestination, {}), "drop"}};
  for (const auto& [family, name] : {std::pair{"ip", "NXM_OF_IP"}, {"ipv6", "NXM_NX_IPV6"}}) {
    rules.push_back({kDestinationTable, kElsewhere, cookie, family,
                     fmt::format("push:{0}_SRC[],move:{0}_DST[]->{0}_SRC[],{1}pop:{0}_SRC[],resubmit(,3)",
                                 name, kAskRemotes)});
  }
  return rules;
}

// The switch prints registers in their order.
Rule Same(tenancy::TenantId tenant, int first, int second) {
  return {kCompareTable, kExact, Cookie(CookieKind::kCompare, tenant.low),
          Registers(std::min(first, second), tenant) + "," + Registers(std::max(first, second), tenant),
          "resubmit(,4)"};
}

}  // namespace

std::map<int64_t, std::vector<std::string>> TrackedPrefixes() {
  const std::vector<std::string> sources = {"ip_src", "ipv6_src"};
  const std::vector<std::string> destinations = {"ip_dst", "ipv6_dst"};
  return {{kAdmitTable, destinations},
          {kRemoteTable, sources},
          {kDestinationTable, {"none"}},
          {kForwardTable, {"none"}},
          {kSenderTable, {"none"}}};
}

std::vector<Rule> ControlRules(const BridgeFacts& bridge, config::TenancyMode mode) {
  const uint64_t cookie = Cookie(CookieKind::kPipeline, 0);
  std::vector<Rule> rules;
  const auto control = [&](std::string match, std::string actions) {
    rules.push_back({kAdmitTable, kControl, cookie, std::move(match), std::move(actions)});
  };
  // The fabric's control plane needs only IPv6 link-local: ND, RA, BGP, BFD. The switch matches no L4 field here; the node's own
  // kernel looks at those.
  // Where the uplink has VLANs, a frame with a tag is for the port of its VLAN.
  const std::string uplink =
      fmt::format("in_port={}{}{}", bridge.uplink_port, bridge.vlans.empty() ? "" : ",",
                  bridge.vlans.empty() ? "" : kUntagged);
  const std::string to_uplink = fmt::format("output:{}", bridge.uplink_port);
  for (const char* destination : {"fe80::/10", "ff02::/16"}) {
    control(fmt::format("ipv6,{},ipv6_dst={}", uplink, destination), "LOCAL");
  }
  control("ipv6,in_port=LOCAL,ipv6_src=fe80::/10", to_uplink);
  control("ipv6,in_port=LOCAL,ipv6_src=::,ipv6_dst=ff02::/16",
          to_uplink);  // duplicate address detection of LOCAL
  control(fmt::format("{},dl_type=0x88cc", uplink), "LOCAL");
  control("in_port=LOCAL,dl_type=0x88cc", to_uplink);

  // The fabric's own addresses are for nobody's pod: BGP of the leaf answers there. With tenants table 2 does not know them either.
  for (const char* destination : {"ip,nw_dst=169.254.0.0/16", "ip,nw_dst=224.0.0.0/4",
                                  "ipv6,ipv6_dst=fe80::/10", "ipv6,ipv6_dst=ff00::/8"}) {
    rules.push_back({kForwardTable, kNotElsewhere, cookie, destination, "drop"});
  }

  if (mode != config::TenancyMode::kOff) Append(rules, ElsewhereRules(bridge));
  for (const uint8_t table : {kAdmitTable, kSourceTable, kDestinationTable, kCompareTable, kForwardTable,
                              kSenderTable, kRefuseTable, kRemoteTable}) {
    const bool asks_for_tenant =
        table == kSourceTable || table == kDestinationTable || table == kCompareTable;
    std::string actions = "drop";
    if (asks_for_tenant && mode == config::TenancyMode::kOff)
      actions = fmt::format("resubmit(,{})", table + 1);
    if (table == kSenderTable) actions = kToRefuse;
    rules.push_back({table, kMiss, cookie, "", std::move(actions)});
  }
  return rules;
}

std::vector<Rule> AdmitRules(const BridgeFacts& bridge, const Pod& pod) {
  const uint64_t cookie = Cookie(CookieKind::kAttachment, static_cast<uint64_t>(pod.id));
  const std::string port = fmt::format("in_port={}", pod.port);
  const std::string mac = pod.mac.ToString();
  const std::string gateway_mac = bridge.gateway_mac.ToString();
  std::vector<Rule> rules;
  // The guard refuses most of what these refuse. A tag that the kernel keeps beside a frame is not in what the guard sees.
  rules.push_back({kAdmitTable, kTagged, cookie, port + ",vlan_tci=0x1000/0x1000", kToRefuse});
  rules.push_back({kAdmitTable, kOther, cookie, port, kToRefuse});
  for (const char* family : {"ip", "ipv6"}) {
    const bool used = std::ranges::any_of(
        pod.addresses, [&](const IpAddress& address) { return Family(address) == std::string_view(family); });
    if (used) {
      rules.push_back({kAdmitTable, kExact, cookie, fmt::format("{},{}", family, port), "resubmit(,5)"});
    }
  }
  for (const IpAddress& address : pod.addresses) {
    const std::string text = address.ToString();
    rules.push_back({kSenderTable, kExact, cookie,
                     fmt::format("{},{},{},dl_src={},dl_dst={},{}={}", Family(address), port, kUntagged, mac,
                                 gateway_mac, Source(address), text),
                     "resubmit(,1)"});
    if (!bridge.vlans.empty()) continue;
    rules.push_back({kAdmitTable, kExact, cookie,
                     fmt::format("{},in_port={},{},dl_dst={},{}={}", Family(address), bridge.uplink_port,
                                 kUntagged, bridge.bridge_mac.ToString(), Destination(address), text),
                     "resubmit(,1)"});
    rules.push_back(
        {kForwardTable, kExact, cookie, fmt::format("{},{}={}", Family(address), Destination(address), text),
         fmt::format("set_field:{}->eth_src,set_field:{}->eth_dst,output:{}", gateway_mac, mac, pod.port)});
  }
  rules.push_back({kRefuseTable, kExact, cookie, port, "drop"});
  return rules;
}

std::vector<Rule> TenantRules(const BridgeFacts& bridge, const Pod& pod, const TenantIds& tenants) {
  const bool tagged = !bridge.vlans.empty();
  std::vector<Rule> rules;
  if (tagged && pod.vlan == config::kNoVlan) return rules;
  const uint64_t cookie = Cookie(CookieKind::kTenant, static_cast<uint64_t>(pod.id));
  const uint16_t vlan = tagged ? pod.vlan : config::kNoVlan;
  rules.push_back({kSourceTable, kExact, cookie, fmt::format("in_port={}", pod.port),
                   SetSource(bridge, tenants) + (tagged ? "," + SetVlan(vlan) : "") + ",resubmit(,2)"});
  for (const IpAddress& address : pod.addresses) {
    const std::string its =
        fmt::format("{}{},{}={}", Family(address), OfVlan(vlan), Destination(address), address.ToString());
    rules.push_back(
        {kDestinationTable, kExact, cookie, its, SetDestination(bridge, tenants) + ",resubmit(,3)"});
    if (!tagged) continue;
    rules.push_back(
        {kAdmitTable, kExact, cookie,
         fmt::format("{},in_port={},dl_vlan={},dl_dst={},{}={}", Family(address), bridge.uplink_port, vlan,
                     bridge.bridge_mac.ToString(), Destination(address), address.ToString()),
         fmt::format("pop_vlan,{},resubmit(,1)", SetVlan(vlan))});
    rules.push_back({kForwardTable, kExact, cookie, its,
                     fmt::format("set_field:{}->eth_src,set_field:{}->eth_dst,output:{}",
                                 bridge.gateway_mac.ToString(), pod.mac.ToString(), pod.port)});
  }
  return rules;
}

std::vector<Rule> VlanRules(const BridgeFacts& bridge, const VlanPort& vlan) {
  std::vector<Rule> rules;
  if (vlan.vlan == config::kNoVlan || vlan.port == 0) return rules;
  const std::string to_uplink = OutputTagged(vlan.vlan, bridge.uplink_port);
  for (const char* destination : {"fe80::/10", "ff02::/16"}) {
    rules.push_back(
        {kAdmitTable, kControl, Cookie(CookieKind::kPipeline, vlan.vlan),
         fmt::format("ipv6,in_port={},dl_vlan={},ipv6_dst={}", bridge.uplink_port, vlan.vlan, destination),
         fmt::format("pop_vlan,output:{}", vlan.port)});
  }
  // Of a frame that has a tag, the tag would become the inner one.
  for (const char* source : {"ipv6_src=fe80::/10", "ipv6_src=::,ipv6_dst=ff02::/16"}) {
    rules.push_back({kAdmitTable, kControl, Cookie(CookieKind::kPipeline, vlan.vlan),
                     fmt::format("ipv6,in_port={},{},{}", vlan.port, kUntagged, source), to_uplink});
  }
  if (vlan.leaf_mac.is_zero()) return rules;
  for (const char* family : {"ip", "ipv6"}) {
    rules.push_back({kForwardTable, kElsewhere, Cookie(CookieKind::kLeaf, vlan.vlan),
                     family + OfVlan(vlan.vlan),
                     fmt::format("set_field:{}->eth_src,set_field:{}->eth_dst,{}",
                                 bridge.bridge_mac.ToString(), vlan.leaf_mac.ToString(), to_uplink)});
  }
  return rules;
}

Rule CompareRule(tenancy::TenantId tenant) {
  return Same(tenant, kSource, kDestination);
}

std::vector<Rule> LeavingRules(tenancy::TenantId tenant) {
  return {Same(tenant, kSource, kDestinationLeaving), Same(tenant, kSourceLeaving, kDestination),
          Same(tenant, kSourceLeaving, kDestinationLeaving)};
}

bool IsOfLeaving(const Rule& rule) {
  return rule.table == kCompareTable &&
         (rule.match.find(fmt::format("reg{}=", kDestinationLeaving)) != std::string::npos ||
          rule.match.find(fmt::format("reg{}=", kSourceLeaving)) != std::string::npos);
}

// FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/): the same in every build.
uint64_t RemoteCookie(const IpAddress& address) {
  uint32_t hash = 2166136261U;
  for (const char byte : address.bytes()) hash = (hash ^ static_cast<uint8_t>(byte)) * 16777619U;
  return Cookie(CookieKind::kRemote, (hash ^ hash >> 16) % ovs::kRemoteSlices);
}

namespace {

// The VLAN that a match of ours asks for: its register, between the family and what follows.
uint16_t VlanOf(std::string_view match) {
  const std::string mark = fmt::format(",{}=0x", kVlanRegister);
  const size_t at = match.find(mark);
  if (at == std::string_view::npos) return config::kNoVlan;
  const std::string_view digits = match.substr(at + mark.size());
  uint16_t vlan = config::kNoVlan;
  std::from_chars(digits.data(), digits.data() + digits.size(), vlan, 16);
  return vlan;
}

}  // namespace

std::optional<Rule> RemoteRule(const BridgeFacts& bridge, const VlanAddress& remote,
                               const TenantIds& tenants) {
  if (bridge.vlans.empty() != (remote.vlan == config::kNoVlan)) return std::nullopt;
  const IpAddress& address = remote.address;
  return Rule{
      kRemoteTable, kExact, RemoteCookie(address),
      fmt::format("{}{},{}={}", Family(address), OfVlan(remote.vlan), Source(address), address.ToString()),
      SetDestination(bridge, tenants)};
}

std::optional<Rule> RemoteRuleAt(
    const BridgeFacts& bridge, const Rule& place,
    const std::function<std::optional<TenantIds>(const VlanAddress&)>& tenants_of) {
  if (place.priority != kExact || place.table != kRemoteTable) return std::nullopt;
  const size_t equals = place.match.rfind('=');
  if (equals == std::string::npos) return std::nullopt;
  const auto address = IpAddress::Parse(std::string_view(place.match).substr(equals + 1));
  if (!address) return std::nullopt;
  const VlanAddress remote(*address, VlanOf(place.match));
  const auto tenants = tenants_of(remote);
  if (!tenants) return std::nullopt;
  auto rule = RemoteRule(bridge, remote, *tenants);
  if (!rule || rule->match != place.match) return std::nullopt;  // `place` matches more than the address
  return rule;
}

bool MayBeRemotes(const Rule& rule) {
  std::string_view next;  // what follows whose the address is
  if (rule.table == kSourceTable) next = ",resubmit(,2)";
  if (rule.table == kDestinationTable) next = ",resubmit(,3)";
  if (rule.priority != kExact || (next.empty() && rule.table != kRemoteTable)) return false;
  std::string_view rest = rule.actions;
  if (!rest.ends_with(next)) return false;
  rest.remove_suffix(next.size());
  constexpr std::string_view kSet = "set_field:";
  while (rest.starts_with(kSet)) {  // one that leaves a tenant has two
    const size_t comma = rest.find(',');
    if (comma == std::string_view::npos) return true;
    rest.remove_prefix(comma + 1);
  }
  return false;
}

std::optional<uint8_t> DropsOf(const Rule& rule) {
  if (rule.actions != "drop" || rule.table == kRemoteTable) return std::nullopt;
  if (rule.table != kCompareTable || rule.priority != kUnknown) return rule.table;
  return rule.match.starts_with(fmt::format("reg{}=", kSource)) ? kSourceTable : kDestinationTable;
}

std::vector<Rule> LeafRules(const BridgeFacts& bridge, const MacAddress& leaf_mac) {
  if (!bridge.vlans.empty()) return {};  // a frame without a tag would be nobody's
  const uint64_t cookie = Cookie(CookieKind::kLeaf, 0);
  const std::string actions =
      fmt::format("set_field:{}->eth_src,set_field:{}->eth_dst,output:{}", bridge.bridge_mac.ToString(),
                  leaf_mac.ToString(), bridge.uplink_port);
  return {{kForwardTable, kElsewhere, cookie, "ip", actions},
          {kForwardTable, kElsewhere, cookie, "ipv6", actions}};
}

void Append(std::vector<Rule>& rules, std::vector<Rule> more) {
  rules.insert(rules.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace rail::pipeline
