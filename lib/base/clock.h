// Deadlines: a point on the steady clock by which an operation must have ended.
//
// Use:      Deadline deadline = After(std::chrono::seconds(30));  poll(&p, 1, PollTimeout(deadline));
// Threads:  any thread
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>

namespace rail {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

inline Deadline After(Clock::duration duration) {
  return Clock::now() + duration;
}

// Milliseconds until `deadline` for poll(2), rounded up; 0 when it has passed.
inline int PollTimeout(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, INT_MAX));
}

}  // namespace rail
