// Reads the counters of the node's ports. With `bursts`: bytes at every tick, everything once a second. Without: everything at every tick,
// of which there is one each second while somebody asks, else one each 10 s.
//
// Use:      Sampler sampler(config, views, paths.sysfs);  RAIL_TRY(sampler.Open());  sampler.OnDemand(wake the thread);
//           RAIL_TRY(sampler.Tick());                                     // at each tick, on one thread; without bursts again in Pace()
//           const auto ports = sampler.Fresh(After(300ms));               // any thread
// Threads:  Open, OnDemand and Tick: one thread, in the node's namespace. The rest: any
// Owns:     its sockets, and 15 minutes of seconds and bursts in memory
// Units:    bytes, bytes per second, milliseconds
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/error.h"
#include "lib/counters/bursts.h"
#include "lib/counters/port.h"
#include "lib/counters/slots.h"
#include "lib/counters/tenants.h"
#include "lib/netlink/stats.h"

namespace rail::counters {

struct PortView {
  PortPtr port;
  uint64_t line_rate = 0;  // 0: not known
  PortCounts now;
  std::optional<PortCounts> before;   // the readings before: a second ago, or up to 10 when nobody had asked
  std::optional<PortCounts> earlier;  // about a minute ago, or when it was first read
  std::optional<Second> second;       // the last one that has ended; only with bursts
  Both<uint64_t> peak;                // the fastest tick of the last minute; only with bursts
};

struct PortsView {
  uint64_t version = 0;
  int64_t unix_ms = 0;
  std::vector<PortView> ports;                // uplinks first, by rail; then attachments
  std::map<TenantKey, Both<Counts>> tenants;  // as TenantTotals
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

  // Without bursts: `wake` is called, on the thread of whoever asks, when Due() has become true. Before the threads start.
  void OnDemand(std::function<void()> wake) { wake_ = std::move(wake); }
  // Somebody wants a reading, and the last one is a second old.
  bool Due() const;
  // Until the next tick, if nobody asks meanwhile.
  Clock::duration Pace() const;

  std::shared_ptr<const PortsView> Current() const;
  // A reading that is not older than a second; at the deadline the one that there is.
  std::shared_ptr<const PortsView> Fresh(Deadline deadline) const;
  // Waits until the version is above `version`, or until the deadline; who waits, asks.
  std::shared_ptr<const PortsView> WaitNewer(uint64_t version, Deadline deadline) const;
  BurstList Bursts(int64_t since_ms) const;

 private:
  bool bursts_on() const { return config_.bursts.every_ms != 0; }
  PortCounts CountsOf(Slot& slot, Clock::time_point now, bool with_pods_rdma);
  std::vector<netlink::RdmaCounter> RdmaOf(Slot& slot, Clock::time_point now);
  void LookForBursts(const Moment& now);
  void EverySecond(const Moment& now);
  void AddBursts(PortsView& view);  // with mutex_
  void AddTenants(const Slot& slot, const PortCounts& now);

  const config::NodeConfig& config_;
  Slots slots_;
  std::unique_ptr<netlink::Stats> stats_;
  std::vector<Reading> readings_;
  std::optional<Clock::time_point> second_;
  TenantTotals tenants_;

  // With mutex_: notes that somebody asks. True: the thread must be woken.
  bool Ask() const;
  bool SomebodyAsks() const;  // takes mutex_
  bool IsDue(Clock::time_point now) const;

  std::function<void()> wake_;
  mutable std::mutex mutex_;
  mutable std::condition_variable published_;
  mutable std::optional<Clock::time_point> asked_;
  std::optional<Clock::time_point> read_;  // when current_ was
  BurstRecorder recorder_;
  std::shared_ptr<const PortsView> current_ = std::make_shared<PortsView>();
};

}  // namespace rail::counters
