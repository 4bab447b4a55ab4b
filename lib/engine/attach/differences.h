// The differences between an attachment's record and the node, one sentence for each. The
// plugins' CHECK and raild's share this code.
//
// Use:      RAIL_ASSIGN(auto problems, PortDiffers(node, *rail, attachment));     // {}: it is as recorded
// Threads:  one at a time
// Errors:   of the dependency that is asked
#pragma once

#include <string>
#include <vector>

#include "lib/engine/attach/attachment.h"

namespace rail::engine {

using Differences = std::vector<std::string>;

// Reports a representor that is not a port of the rail's bridge, or does not work as the port that the rules name.
Result<Differences> PortDiffers(Node& node, const config::Rail& rail, const state::Attachment& attachment);

// Reports the rules of `attachment` that the switch does not have as wanted.
Result<Differences> RulesDiffer(Node& node, const state::Attachment& attachment,
                                const std::vector<ovs::Rule>& wanted);

// Reports an attachment that is not in the tenant that node.json, or its label, gives its pod's namespace now. `moves_to`: the name of the
// tenant of MovesTo, "": it does not move.
Differences TenantDiffers(const state::Attachment& attachment, const std::string& moves_to,
                          const config::NodeConfig& config, const tenancy::LoadMap& tenants);
// The same, and an attachment whose tenant has another VLAN than it joined in.
Differences TenantDiffers(const state::Attachment& attachment, const std::vector<state::Step>& steps,
                          const config::NodeConfig& config, const tenancy::LoadMap& tenants);

// What is wrong with a rail's uplink, as a sentence; "" nothing.
std::string UplinkProblem(const config::Rail& rail, const Result<netlink::Link>& link);

// Reports what keeps the attachment's addresses from the leaf: the uplink has no carrier, or bgpd does not announce an address as
// recorded. `announced`: bgpd's announcements.
Result<Differences> AnnouncementDiffers(Node& node, const config::Rail& rail,
                                        const state::Attachment& attachment,
                                        const std::vector<frr::Announcement>& announced);

}  // namespace rail::engine
