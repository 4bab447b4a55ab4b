// What the switch has counted: packets that rules of ours have dropped, and where the datapath carries out the flows of pods.
//
// Use:      const SwitchSample sample = TakeSample(view, config, connections, ask_vswitchd, std::chrono::seconds(10));
//           totals.Add(sample);  totals.list()      // counters that only grow
// Threads:  one at a time
// Source:   README.md of lib/pipeline (which rule drops what); lib/ovs/rule.h (cookies)
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "lib/engine/connections.h"
#include "lib/engine/view.h"
#include "lib/inspect/flows.h"

namespace rail::inspect {

// A rule that drops.
struct DropRule {
  std::string rail;
  uint8_t table = 0;
  int64_t attachment = 0;  // whose pod sent what it drops; 0: a table's miss
  std::string tenant;      // of that attachment
  uint64_t packets = 0;
};

// Flows from or to the pods of a tenant on a rail; what goes from one to another counts for the sender.
struct TenantFlows {
  uint64_t in_hardware = 0;
  uint64_t in_tc = 0;
  uint64_t in_software = 0;
  uint64_t dropping = 0;  // from its pods
};

// Above so many, the datapath's flows are counted and not read: reading them would hold ovs-vswitchd's main thread for longer than
// about a second, and raild would take 100 MB for it.
inline constexpr uint64_t kMostFlowsRead = 50'000;

struct SwitchSample {
  std::string rules_problem;     // "": every bridge has told; else what it has told counts for nothing
  std::string datapath_problem;  // "": the datapath has told how many flows it has
  std::string flows_problem;     // "": each of them has been read
  std::vector<DropRule> drops;
  DatapathCounts datapath;
  std::map<std::pair<std::string, std::string>, TenantFlows>
      flows;  // by rail and tenant, all that have a pod
};

// Counts first, until `connections` has to end; then the flows, for `flows_time` at most and only when the datapath has told how many
// there are. What could not be had is a problem of the sample. Rules are asked for by whole cookies, which ovs-vswitchd has an index
// for: rules of remotes cost nothing.
SwitchSample TakeSample(const engine::NodeView& view, const config::NodeConfig& config,
                        engine::Connections& connections, const AskVswitchd& ask, Clock::duration flows_time);

// Rules come and go and begin anew with each ovs-vswitchd; these totals only grow. What a rule has counted after the last sample
// before it went is lost.
class DropTotals {
 public:
  struct Key {
    std::string rail;
    uint8_t table = 0;
    std::string tenant;  // "": of no pod
    auto operator<=>(const Key&) const = default;
  };
  // The first sample is where counting begins. Totals of tenants that have no rule in it any more are forgotten.
  void Add(const SwitchSample& sample);
  const std::map<Key, uint64_t>& totals() const { return totals_; }

 private:
  bool began_ = false;
  std::map<std::tuple<std::string, uint8_t, int64_t>, uint64_t> last_;  // by rail, table, attachment
  std::map<Key, uint64_t> totals_;
};

}  // namespace rail::inspect
