// Reads the counters of the node's ports: bytes at every tick, everything once a second.
//
// Use:      Sampler sampler(config, views, paths.sysfs);  RAIL_TRY(sampler.Open());
//           RAIL_TRY(sampler.Tick());                                     // at each tick, on one thread
//           const auto ports = sampler.Current();                         // any thread
// Threads:  Open and Tick: one thread, in the node's namespace. The rest: any
// Owns:     its sockets, and 15 minutes of seconds and bursts in memory
// Units:    bytes, bytes per second, milliseconds
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/base/error.h"
#include "lib/counters/bursts.h"
#include "lib/counters/port.h"
#include "lib/netlink/stats.h"

namespace rail::counters {

struct Counts {
  uint64_t bytes = 0, packets = 0, dropped = 0, errors = 0;
  std::optional<uint64_t>
      slow_packets;  // of `packets`, those that the CPU has forwarded; nullopt: not counted
};

struct PortCounts {
  Clock::time_point at;
  Both<Counts> traffic;
  std::optional<netlink::PfcStats> pfc;    // of an uplink whose driver has DCB
  std::vector<netlink::RdmaCounter> rdma;  // of an uplink with an RDMA device, as its driver names them
};

struct PortView {
  PortPtr port;
  uint64_t line_rate = 0;  // 0: not known
  PortCounts now;
  std::optional<PortCounts> before;   // about a second ago
  std::optional<PortCounts> earlier;  // about a minute ago, or when it was first read
  std::optional<Second> second;       // the last one that has ended
  Both<uint64_t> peak;                // the fastest tick of the last minute
};

// Counts of all attachments that a tenant has had on a rail. They only grow.
using TenantKey = std::pair<std::string, std::string>;  // rail, tenant

struct PortsView {
  uint64_t version = 0;
  int64_t unix_ms = 0;
  std::vector<PortView> ports;  // uplinks first, by rail; then attachments
  std::map<TenantKey, Both<Counts>> tenants;
  std::map<BurstRecorder::Key, BurstRecorder::Totals> bursts;
  bool bursts_on = false;
};

// Of one port, the worst second since some time, by direction.
struct Worst {
  PortPtr port;
  uint64_t line_rate = 0;
  Direction direction = Direction::kSent;
  Second second;          // with the fastest tick
  uint64_t bytes = 0;     // in all
  uint64_t ms = 0;        // of all seconds
  uint64_t above_ms = 0;  // of all seconds
  uint64_t pauses = 0;
};

struct BurstList {
  std::vector<Burst> bursts;  // the longest first
  std::vector<Worst> worst;   // of each port that had traffic, the fastest first
};

class Sampler {
 public:
  Sampler(const config::NodeConfig& config, const engine::ViewPublisher& views, std::string sysfs);

  Status Open();
  // Errors: the kernel does not tell the counters.
  Status Tick();

  std::shared_ptr<const PortsView> Current() const;
  // Waits until the version is above `version`, or until the deadline.
  std::shared_ptr<const PortsView> WaitNewer(uint64_t version, Deadline deadline) const;
  BurstList Bursts(int64_t since_ms) const;

 private:
  struct Slot {
    PortPtr port;
    std::string rdma;  // the uplink's RDMA device; "": none
    uint64_t line_rate = 0;
    bool read = false;  // in this tick
    netlink::LinkStats stats;
    std::optional<PortCounts> before;
    std::deque<PortCounts> history;  // one each 10 s, a minute long
  };

  void FindPorts();
  PortCounts CountsOf(const Slot& slot, Clock::time_point now);
  void EverySecond(const Moment& now);
  void AddTenants(const Slot& slot, const PortCounts& now);

  const config::NodeConfig& config_;
  const engine::ViewPublisher& views_;
  const std::string sysfs_;
  std::unique_ptr<netlink::Stats> stats_;
  std::vector<Slot> slots_;
  std::unordered_map<int, size_t> by_index_;  // of the link
  std::vector<Reading> readings_;
  std::optional<Clock::time_point> second_;
  uint64_t seconds_ = 0;
  uint64_t of_view_ = 0;  // the version of the node's view that slots_ are of
  bool lost_ = true;      // a port's link was not there: look again
  std::map<TenantKey, Both<Counts>> tenants_;

  mutable std::mutex mutex_;
  mutable std::condition_variable published_;
  BurstRecorder recorder_;
  std::shared_ptr<const PortsView> current_ = std::make_shared<PortsView>();
};

}  // namespace rail::counters
