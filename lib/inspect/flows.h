// The counters of each attachment's rules, and the datapath's flows from and to it.
//
// Use:      const Flows flows = ReadFlows(attachments, config, connections, ask_vswitchd);
// Threads:  one at a time
// Source:   ovs-dpctl(8) "dump-flows"
#pragma once

#include <string>
#include <vector>

#include "lib/engine/connections.h"
#include "lib/engine/view.h"
#include "lib/inspect/datapath_counts.h"
#include "lib/inspect/megaflow.h"
#include "lib/ovs/rule.h"

namespace rail::inspect {

// Sends a command to the running ovs-vswitchd, like ovs-appctl, and returns its output.
using AskVswitchd = std::function<Result<std::string>(const std::string& command,
                                                      const std::vector<std::string>& arguments, Deadline)>;

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

struct Flows {
  std::vector<AttachmentFlows> attachments;
  std::string datapath_problem;  // why the datapath's flows are unknown; "" they are known
};

// How many flows the datapath has, without reading them. Errors: kTransient ovs-vswitchd does not answer; kInvalid it has no such
// datapath.
Result<DatapathCounts> CountMegaflows(const config::NodeConfig& config, const AskVswitchd& ask,
                                      Deadline deadline);

// Calls `each` for every megaflow of the datapath. Reading them keeps ovs-vswitchd from all other work for some 20 us per megaflow.
// Errors: kTransient ovs-vswitchd does not answer; kInvalid it refuses.
Status EachMegaflow(const config::NodeConfig& config, const AskVswitchd& ask, Deadline deadline,
                    const std::function<void(Megaflow&&)>& each);

// All megaflows of the datapath. Errors: as EachMegaflow.
Result<std::vector<Megaflow>> ReadMegaflows(const config::NodeConfig& config, const AskVswitchd& ask,
                                            Deadline deadline);

// Errors: the rules cannot be read.
Result<Flows> ReadFlows(const std::vector<const engine::AttachmentView*>& attachments,
                        const config::NodeConfig& config, engine::Connections& connections,
                        const AskVswitchd& ask);

}  // namespace rail::inspect
