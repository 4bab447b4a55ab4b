// The detail of step `tenant`: what the tenant was like when the pod joined it.
//
// Use:      RecordStep(node, attachment, kTenantIsolation, step::kTenant, DetailOf({rail->bridge, vlan, tenant.namespace_uid}));
//           RAIL_ASSIGN(const TenantStep joined, TenantStepOf(steps));
// Threads:  pure functions
// Source:   lib/state/FORMAT.md
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/error.h"
#include "lib/config/vlans.h"
#include "lib/state/store.h"

namespace rail::engine {

struct TenantStep {
  std::string bridge;
  uint16_t vlan = config::kNoVlan;  // mode `vrf`: of the tenant
  std::string
      namespace_uid;  // of the pod's namespace, as tenants.json had it; "": it said nothing, or an earlier version has recorded it
};

std::string DetailOf(const TenantStep& joined);
// Errors: kNotFound there is no such step, kInvalid the record is malformed.
Result<TenantStep> TenantStepOf(const std::vector<state::Step>& steps);

}  // namespace rail::engine
