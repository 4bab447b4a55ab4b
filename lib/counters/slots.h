// The ports that are read, and what was read of each.
//
// Use:      Slots slots(config, views, paths.sysfs);  slots.Find();  slots.Read(stats, Detail::kAll);  for (Slot& slot : slots.all()) ...
// Threads:  one, in the node's namespace
// Units:    bytes, bytes per second
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/base/error.h"
#include "lib/counters/bursts.h"
#include "lib/counters/port.h"
#include "lib/counters/tenants.h"
#include "lib/netlink/stats.h"

namespace rail::counters {

struct PortCounts {
  Clock::time_point at;
  Both<Counts> traffic;
  std::optional<netlink::PfcStats> pfc;  // of an uplink whose driver has DCB
  // As the driver of its RDMA device names them. With bursts, a pod's are up to ten seconds old while nobody asks.
  std::vector<netlink::RdmaCounter> rdma;
  Clock::time_point rdma_at;
};

struct Slot {
  PortPtr port;
  std::string rdma;                                  // its RDMA device; "": none, or none found so far
  std::optional<Clock::time_point> without_rdma_at;  // it had none then
  std::vector<netlink::RdmaCounter> rdma_before;     // of the reading before the last one
  Clock::time_point rdma_before_at;
  uint64_t line_rate = 0;
  bool read = false;  // in this tick
  netlink::LinkStats stats;
  std::optional<PortCounts> before;
  std::deque<PortCounts> history;  // one each 10 s, a minute long
};

class Slots {
 public:
  Slots(const config::NodeConfig& config, const engine::ViewPublisher& views, std::string sysfs)
      : config_(config), views_(views), sysfs_(std::move(sysfs)) {}

  // The ports of the node's view as it is now. A port that stays keeps its slot. Costs nothing while view and links are as before.
  void Find();
  // The counters of all links, into the slots. Errors: the kernel does not tell them; slots are as before then, and unread.
  Status Read(netlink::Stats& stats, netlink::Stats::Detail detail);
  // Those of uplinks, from the kernel: once a minute, as it takes the RTNL lock.
  void AskLineRates(Clock::time_point now);
  std::vector<Slot>& all() { return slots_; }

 private:
  const config::NodeConfig& config_;
  const engine::ViewPublisher& views_;
  const std::string sysfs_;
  std::vector<Slot> slots_;
  std::unordered_map<int, size_t> by_index_;  // of the link
  std::vector<int> indexes_;                  // the same, in order
  std::optional<Clock::time_point> line_rates_asked_;
  uint64_t of_view_ = 0;  // the version of the node's view that slots_ are of
  bool lost_ = true;      // a port's link was not there: look again
};

}  // namespace rail::counters
