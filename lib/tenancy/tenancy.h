// Who belongs together: namespace -> tenant -> the 56-bit id that OVS compares and BGP carries.
//
// Use:      RAIL_ASSIGN(auto tenancy, Tenancy::Load(node.tenancy));
//           Tenant tenant = tenancy.TenantOf("team-a-dev");          // its id under the key of today
//           if (tenancy.IsOf("team-a-dev", id)) ...                  // under that key or another that is accepted
//           Communities of a tenant and a rail:  TenantCommunity(asn, id), RailCommunity(asn, index)
// Threads:  immutable after Load
// Source:   HMAC: RFC 2104 with SHA-256; large communities: RFC 8092
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// A name for a key by which people compare nodes; it tells nothing of the key. 8 hexadecimal digits.
std::string Fingerprint(std::string_view key);

// A file that node.json names for a key, as it was read.
struct KeyFile {
  std::string file;
  bool current = false;     // tenancy.key_file; else one of tenancy.accept_key_files
  std::string fingerprint;  // "": it is not there, or cannot be used
  std::string problem;      // why it cannot be used; "": nothing is wrong, it may just not be there
  auto operator<=>(const KeyFile&) const = default;
};

class Tenancy {
 public:
  // Reads the key files (16..4096 bytes, regular files that only root and its group can read). Of those that are also accepted one
  // that is not there is not accepted; one that cannot be used neither, and AcceptedProblem says so.
  // Errors, of key_file alone: kNotFound there is none; kInvalid too short, too long, readable by everyone; kPermission.
  static Result<Tenancy> Load(const config::Tenancy& config);
  // With these keys: the first is the one of today, the others are also accepted.
  Tenancy(config::Tenancy config, std::vector<std::string> keys);

  // The tenant that holds `pod_namespace`: the one whose list names it, else the namespace itself.
  //   pod_namespace  what Kubernetes says (K8S_POD_NAMESPACE), 1..63 bytes
  // A tenant of the map and a namespace of the same name outside the map are two tenants: ids are computed over
  // "tenant/<name>" and "namespace/<name>".
  Tenant TenantOf(std::string_view pod_namespace) const;
  // Whether `id` is that tenant's under any key.
  bool IsOf(std::string_view pod_namespace, TenantId id) const;
  // All ids of that tenant, the one of today first.
  std::vector<TenantId> IdsOf(std::string_view pod_namespace) const;

  // What a recorded tenant is, told from its name and from an id that it was given under one of the keys.
  struct Recognised {
    std::vector<TenantId> ids;  // by key: the one of today first
    size_t key = 0;             // that made the id; 0 is today's
  };
  // Nothing: no key makes this id of this name.
  std::optional<Recognised> Recognise(std::string_view name, TenantId id) const;

  config::TenancyMode mode() const { return config_.mode; }
  // key_file first, then accept_key_files in their order. Not of a Tenancy that was not loaded.
  const std::vector<KeyFile>& key_files() const { return files_; }
  // By key, as in Recognised.
  const std::vector<std::string>& fingerprints() const { return fingerprints_; }
  // Errors: kInvalid, kPermission: one of accept_key_files is there and cannot be used.
  Status AcceptedProblem() const;
  bool SameKeys(const Tenancy& other) const { return keys_ == other.keys_ && files_ == other.files_; }

 private:
  std::string NameIn(std::string_view pod_namespace, bool& in_map) const;
  std::vector<TenantId> IdsUnderAll(const std::string& hashed) const;

  config::Tenancy config_;
  std::vector<std::string> keys_;  // today's first; none twice; none: mode off
  std::vector<std::string> fingerprints_;
  std::vector<KeyFile> files_;
};

}  // namespace rail::tenancy
