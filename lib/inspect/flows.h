// The counters of each attachment's rules, and the datapath's flows from and to it.
//
// Use:      const v1::ListFlowsResponse flows = ReadFlows(attachments, config, connections);
// Threads:  one at a time
// Source:   ovs-dpctl(8) "dump-flows"
#pragma once

#include <string>
#include <vector>

#include "lib/engine/attach/connections.h"
#include "lib/engine/view.h"
#include "lib/inspect/megaflow.h"
#include "lib/ovs/rule.h"
#include "lib/ovs/vswitchd.h"

namespace rail::inspect {

inline constexpr size_t kMostMegaflows = 1000;

// A part of the attachments that match, in the order of their ids.
struct FlowsPage {
  int64_t after = 0;  // only attachments with a higher id
  size_t size = 16;   // at most so many
};

// How many flows the datapath has, without reading them. Errors: kTransient ovs-vswitchd does not answer; kInvalid it has no such
// datapath.
Result<ovs::DatapathCounts> CountMegaflows(const config::NodeConfig& config, engine::Connections& connections,
                                           Deadline deadline);

// Calls `each` for every megaflow of the datapath. Reading them keeps ovs-vswitchd from all other work for some 20 us per megaflow.
// Errors: kTransient ovs-vswitchd does not answer; kInvalid it refuses.
Status EachMegaflow(const config::NodeConfig& config, engine::Connections& connections, Deadline deadline,
                    const std::function<void(Megaflow&&)>& each);

// All megaflows of the datapath. Errors: as EachMegaflow.
Result<std::vector<Megaflow>> ReadMegaflows(const config::NodeConfig& config,
                                            engine::Connections& connections, Deadline deadline);

// Without `total` and `next_page_token`. Keeps no more than it returns, whatever the datapath has: at most kMostMegaflows of each attachment. Errors: the rules cannot be read.
Result<v1::ListFlowsResponse> ReadFlows(const std::vector<const engine::AttachmentView*>& attachments,
                                        const config::NodeConfig& config, engine::Connections& connections);

}  // namespace rail::inspect
