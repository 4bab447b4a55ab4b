// What differs between an attachment's record and the node: one sentence for each. CHECK of the plugins and the daemon's share this.
//
// Use:      RAIL_ASSIGN(auto problems, PortDiffers(node, *rail, attachment));     // {}: it is as recorded
// Threads:  one at a time
// Errors:   of the dependency that is asked
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/engine/attachment.h"

namespace rail::engine {

using Differences = std::vector<std::string>;

// The representor is not a port of the rail's bridge, or does not work as the port that the rules name.
Result<Differences> PortDiffers(Node& node, const config::Rail& rail, const state::Attachment& attachment);

// The rules of `attachment` that are not in the switch as wanted.
Result<Differences> RulesDiffer(Node& node, const state::Attachment& attachment,
                                const std::vector<ovs::Rule>& wanted);

// The tenant in which the attachment was put is not that of its pod's namespace, as node.json says now.
Differences TenantDiffers(const state::Attachment& attachment, std::string_view pod_namespace,
                          const config::NodeConfig& config);

// What keeps the attachment's addresses from the leaf: the uplink has no carrier, bgpd does not announce one of them or
// announces it otherwise. `announced`: what bgpd says that it announces.
Result<Differences> AnnouncementDiffers(Node& node, const config::Rail& rail,
                                        const state::Attachment& attachment,
                                        const std::vector<frr::Announcement>& announced);

}  // namespace rail::engine
