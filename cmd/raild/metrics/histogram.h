// A histogram of durations.
//
// Use:      Histogram times;  times.Observe(0.012);  page.Add(metrics::kCniSeconds, {"ovs-provider", "ADD"}, times);
// Threads:  one at a time
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rail::metrics {

class Histogram {
 public:
  // Upper bounds in seconds. A verb takes milliseconds; its deadline is 30 s.
  static constexpr std::array kBounds = {0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2,
                                         0.5,   1.0,   2.0,  5.0,  10.0, 30.0};

  void Observe(double seconds) {
    for (size_t i = 0; i < kBounds.size(); ++i) below_[i] += seconds <= kBounds[i] ? 1 : 0;
    ++count_;
    sum_ += seconds;
  }
  const std::array<uint64_t, kBounds.size()>& below() const {
    return below_;
  }  // cumulative: each includes the ones before
  uint64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::array<uint64_t, kBounds.size()> below_{};
  uint64_t count_ = 0;
  double sum_ = 0;
};

}  // namespace rail::metrics
