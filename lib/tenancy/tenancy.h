// Who belongs together: namespace -> tenant -> the 56-bit id that OVS compares and BGP carries.
//
// Use:      RAIL_ASSIGN(auto tenancy, Tenancy::Load(node.tenancy));
//           Tenant tenant = tenancy.TenantOf("team-a-dev");
//           Communities of a tenant and a rail:  TenantCommunity(asn, id), RailCommunity(asn, index)
// Threads:  immutable after Load
// Source:   HMAC: RFC 2104 with SHA-256; large communities: RFC 8092
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/error.h"
#include "lib/config/node_config.h"

namespace rail::tenancy {

// 1 .. 2^56-1; 0 is "no tenant" and never matches a rule.
struct TenantId {
  uint64_t value = 0;
  std::string ToString() const;  // 14 hexadecimal digits
  auto operator<=>(const TenantId&) const = default;
};

struct Tenant {
  std::string name;
  TenantId id;
};

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

// The first 7 bytes of HMAC-SHA256(key, name): who does not know the key cannot look for a name that collides.
TenantId ComputeTenantId(std::string_view key, std::string_view name);

LargeCommunity TenantCommunity(uint32_t community_asn, TenantId id);        // asn:0x54hhhhhh:llllllll
LargeCommunity RailCommunity(uint32_t community_asn, uint32_t rail_index);  // asn:0x52000000:<index>
// The tenant or rail that `community` names, when it is one of ours under `community_asn`.
std::optional<TenantId> TenantOfCommunity(uint32_t community_asn, const LargeCommunity& community);
std::optional<uint32_t> RailOfCommunity(uint32_t community_asn, const LargeCommunity& community);

class Tenancy {
 public:
  // Reads the key file (16..4096 bytes, a regular file that only root and its group can read).
  // Errors: kNotFound no key file; kInvalid too short, too long, readable by everyone; kPermission.
  static Result<Tenancy> Load(const config::Tenancy& config);
  Tenancy(config::Tenancy config, std::string key) : config_(std::move(config)), key_(std::move(key)) {}

  // The tenant that holds `pod_namespace`: the one whose list names it, else the namespace itself.
  //   pod_namespace  what Kubernetes says (K8S_POD_NAMESPACE), 1..63 bytes
  // A tenant of the map and a namespace of the same name outside the map are two tenants: ids are computed over
  // "tenant/<name>" and "namespace/<name>".
  Tenant TenantOf(std::string_view pod_namespace) const;
  config::TenancyMode mode() const { return config_.mode; }

 private:
  config::Tenancy config_;
  std::string key_;
};

}  // namespace rail::tenancy
