// Whose an address is, in the record: the node's, or in mode `vrf` its tenant's, where two tenants may have the same one.
//
// Use:      RAIL_TRY(ClaimAddresses(node, attachment));     // before the first rule of its tenant; mode `vrf`
//           RAIL_TRY(KeepsMode(config, all, store));        // before anything follows from node.json
// Threads:  as the store
// Source:   lib/state/FORMAT.md (claims of kind "address")
#pragma once

#include <string>
#include <vector>

#include "lib/engine/attach/verb_context.h"

namespace rail::engine {

// Under which value the record knows the address: "10.0.0.1", or in mode `vrf` "team-a/10.0.0.1".
std::string AddressClaim(const config::NodeConfig& config, const std::string& tenant,
                         const IpAddress& address);

// Mode `vrf` alone; in the other modes ovs-provider claims them, as they are the node's. Errors: kBusy another attachment of the tenant
// has one of them (the message names it), or a DEL of this one has begun.
Status ClaimAddresses(Node& node, const state::Attachment& attachment);

// The rules that its tenant gives an attachment. Errors: as Facts, in mode `vrf`.
Result<std::vector<ovs::Rule>> TenantRulesOf(Node& node, const state::Attachment& attachment);

// Errors: kInvalid node.json has mode `vrf` and pods of `all` were attached without, or the other way round: every rule would be another one.
Status KeepsMode(const config::NodeConfig& config, const std::vector<state::Attachment>& all,
                 state::Store& store);
// The same of a plugin's node.json and record. Errors: also of the record.
Status KeepsMode(VerbContext& context);

// Errors: kInvalid the attachment joined its tenant in another VLAN than node.json gives the tenant now. It is cut off then (VlanOf).
Status KeepsVlan(const config::NodeConfig& config, const state::Attachment& attachment,
                 const std::vector<state::Step>& steps);
// The same of each attachment of `all` that is not cut off by `was`. Errors: also of the record.
Status KeepsVlans(const config::NodeConfig& config, const config::NodeConfig& was,
                  const std::vector<state::Attachment>& all, state::Store& store);
// The same of one tenant in a plugin's record: no pod joins a tenant whose others are cut off. Errors: also of the record.
Status KeepsVlans(VerbContext& context, const std::string& tenant);

}  // namespace rail::engine
