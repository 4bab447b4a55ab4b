// Deadlines (a point on the steady clock by which an operation must have ended), and the time of day.
//
// Use:      Deadline deadline = After(std::chrono::seconds(30));  poll(&p, 1, PollTimeout(deadline));
//           attachment.created_ms = UnixMs();
// Threads:  any thread
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>
#include <optional>

namespace rail {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

inline Deadline After(Clock::duration duration) {
  return Clock::now() + duration;
}

// The earlier of two deadlines. nullopt means never.
inline std::optional<Deadline> Earlier(std::optional<Deadline> a, std::optional<Deadline> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// Milliseconds until `deadline` for poll(2), rounded up; 0 when it has passed.
inline int PollTimeout(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, INT_MAX));
}

// Milliseconds since 1970-01-01 00:00 UTC. It jumps when somebody sets the clock: for stamps, never for deadlines.
inline int64_t UnixMs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace rail
