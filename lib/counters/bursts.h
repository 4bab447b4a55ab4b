// What byte counters that are read many times a second say of each second, and the bursts in them: times above 90 % of line rate.
//
// Use:      BurstRecorder recorder;   recorder.Tick({Clock::now(), UnixMs()}, readings);   recorder.bursts()
// Threads:  one at a time
// Units:    bytes, bytes per second, milliseconds; Unix time in milliseconds
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "lib/base/clock.h"
#include "lib/counters/port.h"

namespace rail::counters {

inline constexpr double kFull = 0.9;              // of line rate: from here on queues build up
inline constexpr std::chrono::minutes kKept{15};  // how long seconds and bursts are kept
inline constexpr std::chrono::seconds kSecond{1};
inline constexpr size_t kMostBursts = 10'000;  // of all ports; the oldest goes first

// From when on a tick ends a second: the one that is nearest to its end does. Each may be a little early or late.
constexpr Clock::duration SecondOf(std::chrono::milliseconds every) {
  return kSecond - every / 2;
}

struct Reading {
  PortPtr port;
  uint64_t line_rate = 0;  // bytes per second; 0: not known, so nothing is a burst
  Both<uint64_t> bytes;    // counted so far
};

struct Moment {
  Clock::time_point at;
  int64_t unix_ms = 0;
};

// What the ticks of one second came to, in one direction.
struct Stretch {
  uint64_t bytes = 0;
  uint64_t max = 0;       // the fastest tick
  uint64_t p99 = 0;       // nearest rank of the ticks
  uint32_t above_ms = 0;  // in ticks above kFull of line rate
  uint32_t longest_ms =
      0;  // the longest run of such ticks that reaches into this second, from its start, also before the second
};

struct Second {
  int64_t start_ms = 0;
  uint32_t ms = 0;  // 1000 and up to a tick more
  Both<Stretch> of;
  uint64_t pauses = 0;  // PFC frames, both ways, of an uplink
};

// Another port of the same rail that carried part of a burst.
struct Companion {
  PortPtr port;
  uint64_t bytes = 0;
};

// A run of ticks above kFull of line rate.
struct Burst {
  PortPtr port;
  Direction direction = Direction::kSent;
  int64_t start_ms = 0;  // when the first of these ticks began: the burst began within that tick
  uint32_t ms = 0;
  uint64_t bytes = 0;
  uint64_t max = 0;  // of its fastest tick
  uint64_t line_rate = 0;
  bool goes_on = false;
  std::vector<Companion> with;  // the biggest first, at most 3
};

class BurstRecorder {
 public:
  // `every`: the time between two ticks.
  explicit BurstRecorder(std::chrono::milliseconds every = {}) : second_(SecondOf(every)) {}

  // One reading of every port. A port that is not in it is forgotten; its bursts are kept.
  void Tick(const Moment& now, std::span<const Reading> readings);
  // PFC frames of an uplink so far, both ways. They belong to the second that is running.
  void Pauses(const std::string& link, uint64_t total);

  // By the link's name. The last of them has ended; empty: none has.
  const std::deque<Second>& SecondsOf(const std::string& link) const;
  std::vector<PortPtr> ports() const;
  // Those that ended at `since_ms` or later, or go on; in the order of their ends.
  std::vector<Burst> Since(int64_t since_ms) const;
  // So many bursts have begun, and for so long the rate was above, since the recorder exists: for counters. Both grow with
  // each tick, so neither is ever there without the other.
  struct Totals {
    uint64_t bursts = 0;
    std::chrono::nanoseconds above{};
  };
  // By rail, whether it is the uplink's, direction.
  using Key = std::tuple<std::string, bool, Direction>;
  const std::map<Key, Totals>& totals() const { return totals_; }

 private:
  struct Run {
    Burst burst;
    std::chrono::nanoseconds length;
    std::map<std::string, Both<uint64_t>> before;  // bytes of the rail's other ports when it began, by link
  };
  struct State {
    PortPtr port;
    uint64_t seen = 0;  // the tick in which it was read last
    uint64_t line_rate = 0;
    std::optional<Moment> last;
    Both<uint64_t> before, bytes;  // of the last tick and of this one
    Both<std::optional<Run>> run;
    // The second that is running.
    std::optional<Moment> second_began;
    Both<Stretch> stretch;
    Both<std::chrono::nanoseconds> above;
    Both<std::vector<uint64_t>> rates;
    std::optional<uint64_t> pauses_before;
    uint64_t pauses = 0;
    std::deque<Second> seconds;
  };

  void EndRuns(const State& state);
  void Judge(State& state, Direction direction, std::chrono::nanoseconds took);
  void Begin(State& state, Direction direction);
  Burst Finished(const State& state, Direction direction) const;
  void EndSecond(State& state, const Moment& now);
  void Forget(int64_t before_ms);

  const Clock::duration second_;
  uint64_t ticks_ = 0;
  std::map<std::string, State> states_;  // by link
  std::deque<Burst> bursts_;             // that have ended
  std::map<Key, Totals> totals_;
};

}  // namespace rail::counters
