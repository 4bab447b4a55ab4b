// A sample of the switch's counters: packets that our rules have dropped, and where the datapath runs the flows of pods.
//
// Use:      const SwitchSample sample = TakeSample(view, config, connections, std::chrono::seconds(10));
//           totals.Add(sample);  totals.totals()      // counters that never decrease
// Threads:  one at a time
// Source:   lib/engine/attach/TABLES.md (which rule drops what); lib/ovs/rule.h (cookies)
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "lib/engine/attach/connections.h"
#include "lib/engine/view.h"
#include "lib/inspect/flows.h"

namespace rail::inspect {

// In place of a table, plus a guard::Reason: the guard of the pod's representor, before the bridge.
inline constexpr uint8_t kOfGuard = 240;

// A rule, or a guard, that drops.
struct DropRule {
  std::string rail;
  uint8_t table = 0;
  int64_t attachment = 0;  // it drops what this attachment's pod sends; 0: it is a table's miss
  std::string tenant;      // of that attachment
  uint64_t packets = 0;
};

// Flows from or to the pods of a tenant on a rail. A flow from one pod to another counts for the sender.
struct TenantFlows {
  uint64_t in_hardware = 0;
  uint64_t in_tc = 0;
  uint64_t in_software = 0;
  uint64_t dropping = 0;  // from its pods
};

// If the datapath has more flows than this, a sample only counts them. Reading them would occupy ovs-vswitchd's main thread for
// more than about a second, and would take raild 100 MB.
inline constexpr uint64_t kMostFlowsRead = 50'000;

struct SwitchSample {
  std::string rules_problem;     // "": `drops` has the rules of every bridge; else do not use `drops`
  std::string datapath_problem;  // "": `datapath` is known
  std::string flows_problem;     // "": every flow has been read
  std::vector<DropRule> drops;
  ovs::DatapathCounts datapath;
  std::map<std::string, size_t> masks;  // of the flows that were read, by family
  std::map<std::pair<std::string, std::string>, TenantFlows>
      flows;  // by rail and tenant, for all tenants with a pod
};

// Reads the counts first, until the deadline of `connections`. Then reads the flows, for at most `flows_time`, and only if the
// datapath has told their number. What cannot be read is a problem in the sample. Asks for rules by whole cookies, for which
// ovs-vswitchd has an index, so the rules of remotes cost nothing.
SwitchSample TakeSample(const engine::NodeView& view, const config::NodeConfig& config,
                        engine::Connections& connections, Clock::duration flows_time);

// Adds samples to totals that never decrease, while rules are added and removed, and count from 0 again with a new ovs-vswitchd.
// What a rule counts between its last sample and its removal is lost.
class DropTotals {
 public:
  struct Key {
    std::string rail;
    uint8_t table = 0;
    std::string tenant;  // "": the rule belongs to no pod
    auto operator<=>(const Key&) const = default;
  };
  // Counting begins at the first sample. Forgets the totals of tenants that have no rule in `sample`.
  void Add(const SwitchSample& sample);
  const std::map<Key, uint64_t>& totals() const { return totals_; }

 private:
  bool began_ = false;
  std::map<std::tuple<std::string, uint8_t, int64_t>, uint64_t> last_;  // by rail, table, attachment
  std::map<Key, uint64_t> totals_;
};

}  // namespace rail::inspect
