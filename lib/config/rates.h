// What tenants may send on a rail: the section "rates" of node.json.
//
// Use:      const TenantRate& wanted = config.rates->Of("team-a");
// Threads:  values
// Source:   README.md of this folder
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace rail::config {

struct TenantRate {
  uint32_t share = 1;     // against the shares of the other tenants on the rail, 1..1000
  uint64_t max_mbit = 0;  // Mbit/s, all of its pods on the rail together; 0: no limit
  bool operator==(const TenantRate&) const = default;
};

struct Rates {
  TenantRate usual;  // "default"
  std::map<std::string, TenantRate> tenants;
  const TenantRate& Of(const std::string& tenant) const {
    const auto found = tenants.find(tenant);
    return found == tenants.end() ? usual : found->second;
  }
  bool operator==(const Rates&) const = default;
};

}  // namespace rail::config
