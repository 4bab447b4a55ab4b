// The counters of each attachment's rules, and the datapath's flows from and to it.
//
// Use:      const Flows flows = ReadFlows(attachments, config, connections);
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

struct AttachmentMegaflow {
  enum class Direction { kFromPod, kToPod } direction = Direction::kFromPod;
  Megaflow flow;
  std::string why_not;  // why it is not in hardware; "" when it is
};

struct AttachmentFlows {
  engine::AttachmentView shown;
  std::vector<ovs::RuleStats> rules;          // ordered by table, then priority
  std::vector<AttachmentMegaflow> megaflows;  // most packets first, at most kMostMegaflows
  size_t megaflows_total = 0;
};

inline constexpr size_t kMostMegaflows = 1000;

// A part of the attachments that match, in the order of their ids.
struct FlowsPage {
  int64_t after = 0;  // only attachments with a higher id
  size_t size = 16;   // at most so many
};

struct Flows {
  std::vector<AttachmentFlows> attachments;
  size_t total = 0;              // attachments that match, in all pages
  int64_t next = 0;              // FlowsPage::after of the next page; 0: this is the last
  std::string datapath_problem;  // why the datapath's flows are unknown; "" they are known
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

// Keeps no more than it returns, whatever the datapath has: at most kMostMegaflows of each attachment. Errors: the rules cannot be read.
Result<Flows> ReadFlows(const std::vector<const engine::AttachmentView*>& attachments,
                        const config::NodeConfig& config, engine::Connections& connections);

}  // namespace rail::inspect
