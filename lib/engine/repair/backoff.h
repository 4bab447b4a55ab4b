// Decides when to try a part again that could not be repaired: soon at first, then later and later while it stays broken.
//
// Use:      Backoff backoff(250ms, 10s);
//           if (status) backoff.Right(); else backoff.Failed();
//           if (const auto at = backoff.next()) ...                    // nullopt: it is right
// Threads:  one at a time
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "lib/base/clock.h"

namespace rail::engine {

class Backoff {
 public:
  // The first retry comes after `first`, each later one after twice as long, never longer than `longest`.
  Backoff(Clock::duration first, Clock::duration longest) : first_(first), longest_(longest) {}

  void Right() {
    next_.reset();
    delay_ = {};
  }
  void Failed() {
    delay_ = delay_ == Clock::duration{} ? first_ : std::min(delay_ * 2, longest_);
    next_ = Clock::now() + delay_;
  }

  std::optional<Deadline> next() const { return next_; }
  bool Due() const { return next_ && Clock::now() >= *next_; }

 private:
  Clock::duration first_;
  Clock::duration longest_;
  Clock::duration delay_{};
  std::optional<Deadline> next_;
};

}  // namespace rail::engine
