// The tenants of a node: those with a pod here, those in node.json, and those of known remotes.
//
// Use:      for (const TenantSeen& tenant : Tenants(*view, config)) ...
// Threads:  pure functions
#pragma once

#include <set>
#include <string>
#include <vector>

#include "lib/engine/view.h"

namespace rail::inspect {

struct TenantSeen {
  std::string name;      // "": only its id is known
  tenancy::TenantId id;  // none: only its name is known
  std::set<std::string> namespaces;
  uint32_t attachments = 0;
  uint32_t remotes = 0;
  std::set<std::string> rails;
  uint16_t vlan = 0;  // mode `vrf`; 0: none
  bool configured = false;
};

// Ordered by name, those without a name last, then by id.
std::vector<TenantSeen> Tenants(const engine::NodeView& view, const config::Tenancy& tenancy);

}  // namespace rail::inspect
