// tenancy.vlans of node.json: the VLAN that says on an uplink whose frame it is (mode `vrf`).
//
// Use:      const uint16_t vlan = config.tenancy.vlans.Of("team-a");   // kNoVlan: it has none
// Threads:  values
// Source:   IEEE 802.1Q-2022, table 9-2: 0 and 4095 are no VLANs
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace rail::config {

inline constexpr uint16_t kNoVlan = 0;
inline constexpr uint16_t kLastVlan = 4094;

struct Vlans {
  std::map<std::string, uint16_t> of_tenant;  // 1..4094, none twice

  uint16_t Of(const std::string& tenant) const {
    const auto found = of_tenant.find(tenant);
    return found == of_tenant.end() ? kNoVlan : found->second;
  }
  bool empty() const { return of_tenant.empty(); }
  bool operator==(const Vlans&) const = default;
};

}  // namespace rail::config
