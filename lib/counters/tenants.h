// What the ports of each tenant have carried together, on each rail. It only grows, also while its pods come and go.
//
// Use:      TenantTotals totals;
//           totals.Add({"rail0", "team-a"}, before, after, now);  // of each port with a tenant, at each reading
//           totals.Forget(now);                                   // after all ports
// Threads:  one
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "lib/base/clock.h"
#include "lib/counters/port.h"

namespace rail::counters {

struct Counts {
  uint64_t bytes = 0, packets = 0, dropped = 0, errors = 0;
  std::optional<uint64_t>
      slow_packets;  // of `packets`, those that the CPU has forwarded; nullopt: not counted
};

using TenantKey = std::pair<std::string, std::string>;  // rail, tenant

class TenantTotals {
 public:
  // A tenant whose last port has gone stays for so long: whoever scrapes the metrics gets the last value.
  static constexpr std::chrono::minutes kKept{10};

  // The growth of one port between two readings.
  void Add(const TenantKey& key, const Both<Counts>& before, const Both<Counts>& after,
           Clock::time_point now);
  // Takes out what nothing was added to for kKept.
  void Forget(Clock::time_point now);
  const std::map<TenantKey, Both<Counts>>& all() const { return totals_; }

 private:
  std::map<TenantKey, Both<Counts>> totals_;
  std::map<TenantKey, Clock::time_point> added_;  // last; an entry for each of totals_
};

}  // namespace rail::counters
