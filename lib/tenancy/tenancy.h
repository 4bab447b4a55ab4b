// Maps a namespace to its tenant, and a tenant to the 112-bit id that OVS compares and BGP carries.
//
// Use:      RAIL_ASSIGN(Tenant tenant, TenantOf(node_config, "team-a-dev", load_map));
//           announce with TenantCommunities(asn, tenant.id) and RailCommunity(asn, index)
//           const auto id = TenantIn(asn, communities);      // of an announcement from another node
// Threads:  pure functions
// Source:   README.md of this folder (what is hashed); large communities: RFC 8092
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/error.h"
#include "lib/config/node_config.h"
#include "lib/tenancy/tenant_id.h"
#include "lib/tenancy/tenant_map.h"

namespace rail::tenancy {

struct Tenant {
  std::string name;
  TenantId id;
  std::string namespace_uid =
      {};  // of the namespace that was asked for, with kubernetes.tenants; "": the list does not say
};

// Asked for the list of namespaces only where it decides.
using LoadMap = std::function<Result<TenantMapPtr>()>;
// For a node whose configuration asks no API server.
Result<TenantMapPtr> NoMap();

// The tenant of `pod_namespace`: the tenant of tenancy.tenants whose list names it; else, with kubernetes.tenants, the tenant that
// its label names; else the namespace itself. Mode `off`: none.
//   pod_namespace  from Kubernetes (K8S_POD_NAMESPACE), 1..63 bytes
// A tenant that a list or a label names, and a namespace of the same name without a label, are two tenants.
// Errors: kInvalid, only in mode `vrf`: the tenant has no VLAN, or is a namespace by itself. kTransient, only with kubernetes.tenants: there is no list yet, it does not have the namespace, or the label cannot be a
// tenant's name. Nobody guesses then.
Result<Tenant> TenantOf(const config::NodeConfig& node, std::string_view pod_namespace, const LoadMap& map);
// The tenant of this name that tenancy.tenants or labels put namespaces into.
Tenant NamedTenant(const config::NodeConfig& node, const std::string& name);

// Whether the tenant of this name and id is the namespace of that name by itself, and none that a list or a label names.
bool IsNamespaceItself(const config::NodeConfig& node, const std::string& name, TenantId id);

// The ids that the tenant of this name and id has on nodes which call the cluster by one of its aliases. Empty: there is no alias, or the id
// is not one of this cluster's name.
std::vector<TenantId> AliasesOf(const config::NodeConfig& node, const std::string& name, TenantId id);

// asn:first:second, each 32 bits.
struct LargeCommunity {
  uint32_t asn = 0;
  uint32_t first = 0;
  uint32_t second = 0;
  std::string ToString() const;
  // "4200000000:1409286144:7". Errors: kInvalid.
  static Result<LargeCommunity> Parse(std::string_view text);
  auto operator<=>(const LargeCommunity&) const = default;
};

// asn:0x54hhhhhh:hhhhhhhh and asn:0x55llllll:llllllll, the two halves of the id.
std::array<LargeCommunity, 2> TenantCommunities(uint32_t community_asn, TenantId id);
LargeCommunity RailCommunity(uint32_t community_asn, uint32_t rail_index);  // asn:0x52000000:<index>

// Which plane of which rail an uplink is to people and to NCCL, where node.json names planes (rails[].rail, rails[].plane). The uplink's
// index already tells planes apart; this tells other nodes which belong together.
struct Plane {
  uint8_t rail = 0;    // 0..99
  uint8_t number = 0;  // 0..12
  auto operator<=>(const Plane&) const = default;
};
// Nothing: node.json does not say.
std::optional<Plane> PlaneOf(const config::Rail& rail);
LargeCommunity PlaneCommunity(uint32_t community_asn, Plane plane);  // asn:0x50000000:<rail * 256 + plane>
// Nothing: it is not a plane's community under `community_asn`, or names no rail or plane that there can be.
std::optional<Plane> PlaneOfCommunity(uint32_t community_asn, const LargeCommunity& community);
// Tells clusters apart that have one name by mistake: 56 bits of a hash of the UID of namespace kube-system, which a cluster has for life.
using ClusterMark = uint64_t;
// Nothing: there is no list, or it does not say.
std::optional<ClusterMark> MarkOf(const Result<TenantMapPtr>& list);
LargeCommunity ClusterCommunity(uint32_t community_asn, ClusterMark mark);  // asn:0x4bhhhhhh:hhhhhhhh
// Nothing: it is not a cluster's community under `community_asn`.
std::optional<ClusterMark> ClusterOfCommunity(uint32_t community_asn, const LargeCommunity& community);
// The tenant whose two halves are among `communities` under `community_asn`. Nothing: a half is missing or has two values, or both
// halves are zero. Then the route belongs to no tenant.
std::optional<TenantId> TenantIn(uint32_t community_asn, const std::vector<LargeCommunity>& communities);
// The index of the rail that `community` names; nothing when it is not a rail's community under `community_asn`.
std::optional<uint32_t> RailOfCommunity(uint32_t community_asn, const LargeCommunity& community);

// The SHA-256 of `text` as the ids are made of it: its first 28 hexadecimal digits.
std::string HashText(std::string_view text);

}  // namespace rail::tenancy
