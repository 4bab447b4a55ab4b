#include "lib/counters/tenants.h"

namespace rail::counters {
namespace {

uint64_t Grown(uint64_t before, uint64_t now) {
  return now > before ? now - before : 0;  // a counter that has begun anew has lost what was before
}

}  // namespace

void TenantTotals::Add(const TenantKey& key, const Both<Counts>& before, const Both<Counts>& after,
                       Clock::time_point now) {
  added_[key] = now;
  Both<Counts>& total = totals_[key];
  for (const Direction direction : kDirections) {
    const Counts& old = before[direction];
    const Counts& is = after[direction];
    Counts& sum = total[direction];
    sum.bytes += Grown(old.bytes, is.bytes);
    sum.packets += Grown(old.packets, is.packets);
    sum.dropped += Grown(old.dropped, is.dropped);
    sum.errors += Grown(old.errors, is.errors);
    if (is.slow_packets) {
      sum.slow_packets =
          sum.slow_packets.value_or(0) + Grown(old.slow_packets.value_or(*is.slow_packets), *is.slow_packets);
    }
  }
}

void TenantTotals::Forget(Clock::time_point now) {
  std::erase_if(added_, [&](const auto& entry) {
    const bool old = now - entry.second >= kKept;
    if (old) totals_.erase(entry.first);
    return old;
  });
}

}  // namespace rail::counters
