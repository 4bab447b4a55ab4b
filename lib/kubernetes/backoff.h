// How long to wait before the API server is asked again. Many nodes fail at the same moment; chance keeps them apart.
//
// Use:      Backoff backoff(seed);   Wait(backoff.Failed());   backoff.Right();
// Threads:  one
#pragma once

#include <algorithm>
#include <chrono>
#include <random>

#include "lib/base/clock.h"

namespace rail::kubernetes {

class Backoff {
 public:
  static constexpr std::chrono::milliseconds kFirst{1000};
  static constexpr std::chrono::milliseconds kMost{120'000};

  explicit Backoff(uint64_t seed) : random_(seed) {}

  // A time between half of `most` and all of it; `most` doubles with each failure.
  Clock::duration Failed() {
    const auto wait = Between(now_ / 2, now_);
    now_ = std::min(2 * now_, kMost);
    return wait;
  }
  void Right() { now_ = kFirst; }
  Clock::duration Between(std::chrono::milliseconds least, std::chrono::milliseconds most) {
    return std::chrono::milliseconds(
        std::uniform_int_distribution<int64_t>(least.count(), most.count())(random_));
  }

 private:
  std::mt19937_64 random_;
  std::chrono::milliseconds now_ = kFirst;
};

}  // namespace rail::kubernetes
