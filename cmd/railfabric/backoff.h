// How long to wait before the next attempt: longer after each failure, and different for each node, so that a thousand that were lost at
// once do not come back at once.
//
// Use:      Backoff backoff(seconds(1), seconds(30));   loop.After(backoff.Next(random), ...);   backoff.Reset();   // it has worked
// Threads:  values
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace rail::railfabric {

class Backoff {
 public:
  using Milliseconds = std::chrono::milliseconds;
  Backoff(Milliseconds first, Milliseconds longest) : first_(first), longest_(longest), next_(first) {}

  // `random`: 0 to 1. Between half of the time and all of it.
  Milliseconds Next(double random) {
    const Milliseconds now = std::exchange(next_, std::min(longest_, 2 * next_));
    return std::chrono::duration_cast<Milliseconds>(now * (0.5 + random / 2));
  }
  void Reset() { next_ = first_; }

 private:
  Milliseconds first_;
  Milliseconds longest_;
  Milliseconds next_;
};

}  // namespace rail::railfabric
