#include "lib/tenancy/tenancy.h"

#include <nettle/sha2.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace rail::tenancy {
namespace {

constexpr uint32_t kHighMark = 0x54;         // 'T', the highest byte of the second word
constexpr uint32_t kLowMark = 0x55;          // the byte after it
constexpr uint32_t kRailMark = 0x52000000;   // 'R'
constexpr uint32_t kPlaneMark = 0x50000000;  // 'P'
constexpr uint32_t kClusterMark = 0x4b;      // 'K', the highest byte of the second word
constexpr uint32_t kMostRail = 99;
constexpr uint32_t kMostPlane = 12;

// A tenant that a list or a label names and a namespace of the same name are two tenants.
constexpr char kOfMap[] = "tenant/";
constexpr char kOfNamespace[] = "namespace/";

constexpr size_t kHalf = 7;         // bytes
constexpr size_t kHalfDigits = 14;  // hexadecimal

uint64_t HalfAt(const uint8_t* bytes) {
  uint64_t half = 0;
  for (size_t i = 0; i < kHalf; ++i) half = half << 8 | bytes[i];
  return half;
}

TenantId HashOf(std::string_view text) {
  sha256_ctx context;
  sha256_init(&context);
  sha256_update(&context, text.size(), reinterpret_cast<const uint8_t*>(text.data()));
  std::array<uint8_t, 2 * kHalf> digest{};
  sha256_digest(&context, digest.size(), digest.data());
  return {HalfAt(digest.data()), HalfAt(digest.data() + kHalf)};
}

// `name`: with its kind in front. A cluster's name is followed by a number and a kind by none, and neither has a slash: two different
// inputs never make the same text.
TenantId IdOf(const std::string& cluster, uint32_t community_asn, const std::string& name) {
  return HashOf("railcni/" + (cluster.empty() ? "" : cluster + "/") + std::to_string(community_asn) + "/" +
                name);
}

// As nodes with this configuration make it.
TenantId IdOn(const config::NodeConfig& node, const std::string& name) {
  return IdOf(node.cluster.name, node.bgp.community_asn, name);
}

LargeCommunity HalfCommunity(uint32_t community_asn, uint32_t mark, uint64_t half) {
  return {community_asn, mark << 24 | static_cast<uint32_t>(half >> 32), static_cast<uint32_t>(half)};
}

uint64_t HalfIn(const LargeCommunity& community) {
  return uint64_t{community.first & 0xffffff} << 32 | community.second;
}

std::string UidIn(const Result<TenantMapPtr>& list, std::string_view pod_namespace) {
  if (!list) return "";
  const auto found = (*list)->namespaces.find(pod_namespace);
  return found == (*list)->namespaces.end() ? "" : found->second.uid;
}

}  // namespace

std::string HashText(std::string_view text) {
  return HashOf(text).ToString();
}

std::string TenantId::ToString() const {
  char text[2 * kHalfDigits + 1];
  std::snprintf(text, sizeof text, "%014llx%014llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return text;
}

Result<TenantId> TenantId::Parse(std::string_view text) {
  if (text.size() != 2 * kHalfDigits ||
      text.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return Fail(Code::kInvalid,
                "\"" + std::string(text.substr(0, 64)) + "\" is not a tenant's id (28 hexadecimal digits)");
  }
  TenantId id;
  const char* const high = text.data();
  const char* const low = high + kHalfDigits;
  std::from_chars(high, low, id.high, 16);
  std::from_chars(low, low + kHalfDigits, id.low, 16);
  return id;
}

std::string LargeCommunity::ToString() const {
  return std::to_string(asn) + ":" + std::to_string(first) + ":" + std::to_string(second);
}

Result<LargeCommunity> LargeCommunity::Parse(std::string_view text) {
  LargeCommunity community;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (uint32_t* word : {&community.asn, &community.first, &community.second}) {
    if (word != &community.asn) at = at != end && *at == ':' ? at + 1 : nullptr;
    const auto parsed = at == nullptr ? std::from_chars_result{nullptr, std::errc::invalid_argument}
                                      : std::from_chars(at, end, *word);
    if (parsed.ec != std::errc()) {
      return Fail(Code::kInvalid, "\"" + std::string(text.substr(0, 64)) +
                                      "\" is not a large community (three 32-bit numbers, a:b:c)");
    }
    at = parsed.ptr;
  }
  if (at != end) {
    return Fail(Code::kInvalid, "\"" + std::string(text.substr(0, 64)) +
                                    "\" is not a large community: something follows the third number");
  }
  return community;
}

std::array<LargeCommunity, 2> TenantCommunities(uint32_t community_asn, TenantId id) {
  return {HalfCommunity(community_asn, kHighMark, id.high), HalfCommunity(community_asn, kLowMark, id.low)};
}

LargeCommunity RailCommunity(uint32_t community_asn, uint32_t rail_index) {
  return {community_asn, kRailMark, rail_index};
}

std::optional<TenantId> TenantIn(uint32_t community_asn, const std::vector<LargeCommunity>& communities) {
  std::optional<uint64_t> high, low;
  for (const LargeCommunity& community : communities) {
    const uint32_t mark = community.first >> 24;
    if (community.asn != community_asn || (mark != kHighMark && mark != kLowMark)) continue;
    const uint64_t half = HalfIn(community);
    std::optional<uint64_t>& found = mark == kHighMark ? high : low;
    if (found && *found != half) return std::nullopt;
    found = half;
  }
  if (!high || !low) return std::nullopt;
  const TenantId id{*high, *low};
  return id.is_none() ? std::nullopt : std::optional(id);
}

std::optional<uint32_t> RailOfCommunity(uint32_t community_asn, const LargeCommunity& community) {
  if (community.asn != community_asn || community.first != kRailMark) return std::nullopt;
  return community.second;
}

std::optional<Plane> PlaneOf(const config::Rail& rail) {
  if (!rail.place.rail) return std::nullopt;
  return Plane{static_cast<uint8_t>(*rail.place.rail), static_cast<uint8_t>(rail.place.plane)};
}

LargeCommunity PlaneCommunity(uint32_t community_asn, Plane plane) {
  return {community_asn, kPlaneMark, uint32_t{plane.rail} << 8 | plane.number};
}

std::optional<Plane> PlaneOfCommunity(uint32_t community_asn, const LargeCommunity& community) {
  if (community.asn != community_asn || community.first != kPlaneMark) return std::nullopt;
  const uint32_t rail = community.second >> 8;
  const uint32_t number = community.second & 0xff;
  if (rail > kMostRail || number > kMostPlane) return std::nullopt;
  return Plane{static_cast<uint8_t>(rail), static_cast<uint8_t>(number)};
}

std::optional<ClusterMark> MarkOf(const Result<TenantMapPtr>& list) {
  const std::string uid = UidIn(list, "kube-system");
  if (uid.empty()) return std::nullopt;
  return HashOf("railcni/cluster/" + uid).high;
}

LargeCommunity ClusterCommunity(uint32_t community_asn, ClusterMark mark) {
  return HalfCommunity(community_asn, kClusterMark, mark);
}

std::optional<ClusterMark> ClusterOfCommunity(uint32_t community_asn, const LargeCommunity& community) {
  if (community.asn != community_asn || community.first >> 24 != kClusterMark) return std::nullopt;
  return HalfIn(community);
}

Result<TenantMapPtr> NoMap() {
  return Fail(Code::kTransient, "there is no list of the cluster's namespaces on this node yet");
}

Tenant NamedTenant(const config::NodeConfig& node, const std::string& name) {
  return {name, IdOn(node, kOfMap + name)};
}

bool IsNamespaceItself(const config::NodeConfig& node, const std::string& name, TenantId id) {
  return id == IdOn(node, kOfNamespace + name);
}

std::vector<TenantId> AliasesOf(const config::NodeConfig& node, const std::string& name, TenantId id) {
  std::vector<TenantId> aliases;
  for (const char* const kind : {kOfMap, kOfNamespace}) {
    if (IdOn(node, kind + name) != id) continue;
    for (const std::string& alias : node.cluster.aliases)
      aliases.push_back(IdOf(alias, node.bgp.community_asn, kind + name));
  }
  return aliases;
}

namespace {

Result<Tenant> Find(const config::NodeConfig& node, std::string_view pod_namespace, const LoadMap& map) {
  for (const auto& [tenant, namespaces] : node.tenancy.tenants) {
    if (std::ranges::find(namespaces, pod_namespace) == namespaces.end()) continue;
    Tenant named = NamedTenant(node, tenant);
    if (node.kubernetes.tenants) named.namespace_uid = UidIn(map(), pod_namespace);
    return named;
  }
  std::string name(pod_namespace);
  std::string uid;
  if (node.kubernetes.tenants) {
    const std::string doing = "the tenant of namespace " + name + " is not known";
    RAIL_ASSIGN_AS(const TenantMapPtr list, map(), doing);
    const auto found = list->namespaces.find(pod_namespace);
    if (found == list->namespaces.end()) {
      return Fail(Code::kTransient, doing + ": raild has not heard of the namespace from the API server yet");
    }
    const std::optional<std::string>& label = found->second.label;
    if (label && !IsTenantName(*label)) {
      return Fail(
          Code::kTransient,
          doing + ": its label " + list->label_key + "=" + *label +
              " cannot be a tenant (1 to 63 of a-z, 0-9 and '-', with no '-' at either end); correct it");
    }
    uid = found->second.uid;
    if (label) {
      Tenant named = NamedTenant(node, *label);
      named.namespace_uid = uid;
      return named;
    }
  }
  return Tenant{name, IdOn(node, kOfNamespace + name), uid};
}

}  // namespace

Result<Tenant> TenantOf(const config::NodeConfig& node, std::string_view pod_namespace, const LoadMap& map) {
  if (node.tenancy.mode == config::TenancyMode::kOff) return Tenant();
  RAIL_ASSIGN(Tenant tenant, Find(node, pod_namespace, map));
  if (node.tenancy.mode != config::TenancyMode::kVrf) return tenant;
  // A namespace that is a tenant by itself may have the name of one that a list or a label names, and those have the VLANs.
  if (tenant.id == NamedTenant(node, tenant.name).id && node.tenancy.vlans.Of(tenant.name) != config::kNoVlan)
    return tenant;
  return Fail(Code::kInvalid,
              "namespace " + std::string(pod_namespace) + " is of tenant " + tenant.name +
                  ", which has no VLAN: with tenancy.mode \"vrf\" in node.json a namespace must be in "
                  "a list of tenancy.tenants (or have a tenant's label), and its tenant in tenancy.vlans");
}

}  // namespace rail::tenancy
