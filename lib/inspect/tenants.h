// The tenants of a node: those with a pod here, those in node.json, and those of known remotes.
//
// Use:      *response = Tenants(*view, config.tenancy);
// Threads:  pure functions
#pragma once

#include "lib/engine/view.h"
#include "rail/v1/node.pb.h"

namespace rail::inspect {

// Ordered by name, those without a name last, then by id.
v1::ListTenantsResponse Tenants(const engine::NodeView& view, const config::Tenancy& tenancy);

}  // namespace rail::inspect
