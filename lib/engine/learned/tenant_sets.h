// The addresses of each tenant elsewhere, and those that several tenants claim.
//
// Use:      TenantSets sets;  sets.Set(tenant, entry);  sets.Erase(tenant, address);  sets.Claimed(address, tenants);
//           sets.Refresh(table.by_tenant);
// Threads:  one; the snapshots any
#pragma once

#include <map>
#include <memory>
#include <set>

#include "lib/engine/learned/remote_set.h"
#include "lib/tenancy/tenancy.h"

namespace rail::engine {

class TenantSets {
 public:
  using Snapshots = std::map<tenancy::TenantId, std::shared_ptr<const RemoteSet>>;
  using Contested = std::map<IpAddress, std::set<tenancy::TenantId>>;

  void Set(tenancy::TenantId tenant, const RemoteEntry& entry) { Changed(tenant).Set(entry); }
  void Erase(tenancy::TenantId tenant, const IpAddress& address) { Changed(tenant).Erase(address); }
  // By whom it is claimed. One or none: it is not contested.
  void Claimed(const IpAddress& address, const std::set<tenancy::TenantId>& tenants) {
    if (tenants.size() > 1) {
      contested_[address] = tenants;
    } else {
      contested_.erase(address);
    }
  }
  const Contested& contested() const { return contested_; }

  // Makes the snapshots anew whose sets have changed since the last call.
  void Refresh(Snapshots& snapshots) {
    for (const tenancy::TenantId tenant : outdated_) {
      const auto known = sets_.find(tenant);
      if (known->second.empty()) {
        sets_.erase(known);
        snapshots.erase(tenant);
      } else {
        snapshots[tenant] = std::make_shared<const RemoteSet>(known->second);
      }
    }
    outdated_.clear();
  }

 private:
  RemoteSet& Changed(tenancy::TenantId tenant) {
    outdated_.insert(tenant);
    return sets_[tenant];
  }

  std::map<tenancy::TenantId, RemoteSet> sets_;
  Contested contested_;
  std::set<tenancy::TenantId> outdated_;  // their snapshots
};

}  // namespace rail::engine
