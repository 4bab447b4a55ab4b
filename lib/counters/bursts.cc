#include "lib/counters/bursts.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rail::counters {
namespace {

constexpr size_t kMostCompanions = 3;
constexpr uint64_t kShare = 20;  // a companion carried at least a 20th of the burst

uint32_t Ms(std::chrono::nanoseconds time) {
  return static_cast<uint32_t>(std::chrono::round<std::chrono::milliseconds>(time).count());
}

uint64_t Rate(uint64_t bytes, std::chrono::nanoseconds took) {
  return static_cast<uint64_t>(static_cast<double>(bytes) / std::chrono::duration<double>(took).count());
}

uint64_t NearestRank(std::vector<uint64_t>& values, double share) {
  if (values.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto nth = values.begin() + static_cast<ptrdiff_t>(std::max<size_t>(rank, 1) - 1);
  std::ranges::nth_element(values, nth);
  return *nth;
}

}  // namespace

void BurstRecorder::Tick(const Moment& now, std::span<const Reading> readings) {
  ++ticks_;
  // All counters first: a run that begins needs those of its companions.
  for (const Reading& reading : readings) {
    State& state = states_[reading.port->link];
    if (state.port && state.port->attachment != reading.port->attachment) {  // the device has another pod now
      EndRuns(state);
      state = {};
    }
    state.port = reading.port;
    state.seen = ticks_;
    state.line_rate = reading.line_rate;
    state.before = std::exchange(state.bytes, reading.bytes);
    const bool backwards =
        std::ranges::any_of(kDirections, [&](Direction d) { return state.bytes[d] < state.before[d]; });
    if (!state.last || backwards) state.before = state.bytes;
  }
  std::erase_if(states_, [&](const auto& entry) {
    if (entry.second.seen != ticks_) EndRuns(entry.second);
    return entry.second.seen != ticks_;
  });
  for (auto& [link, state] : states_) {
    if (state.last && now.at > state.last->at) {
      for (const Direction direction : kDirections) Judge(state, direction, now.at - state.last->at);
    }
    state.last = now;
    if (!state.second_began) state.second_began = now;
    if (now.at - state.second_began->at >= second_) EndSecond(state, now);
  }
}

void BurstRecorder::EndRuns(const State& state) {
  for (const Direction direction : kDirections) {
    if (state.run[direction]) bursts_.push_back(Finished(state, direction));
  }
}

void BurstRecorder::Judge(State& state, Direction direction, std::chrono::nanoseconds took) {
  const uint64_t bytes = state.bytes[direction] - state.before[direction];
  const uint64_t rate = Rate(bytes, took);
  Stretch& stretch = state.stretch[direction];
  stretch.bytes += bytes;
  stretch.max = std::max(stretch.max, rate);
  state.rates[direction].push_back(rate);
  std::optional<Run>& run = state.run[direction];
  if (state.line_rate == 0 || static_cast<double>(rate) < kFull * static_cast<double>(state.line_rate)) {
    if (!run) return;
    bursts_.push_back(Finished(state, direction));
    run.reset();
    return;
  }
  if (!run) Begin(state, direction);
  run->length += took;
  run->burst.ms = Ms(run->length);
  run->burst.bytes += bytes;
  run->burst.max = std::max(run->burst.max, rate);
  state.above[direction] += took;
  totals_[{state.port->rail, state.port->is_uplink(), direction}].above += took;
  stretch.longest_ms = std::max(stretch.longest_ms, run->burst.ms);
}

void BurstRecorder::Begin(State& state, Direction direction) {
  Run& run = state.run[direction].emplace(Run{.burst = {.port = state.port,
                                                        .direction = direction,
                                                        .start_ms = state.last->unix_ms,
                                                        .line_rate = state.line_rate,
                                                        .goes_on = true},
                                              .length = std::chrono::nanoseconds::zero(),
                                              .before = {}});
  for (const auto& [link, other] : states_) {
    if (other.port->rail == state.port->rail && &other != &state) run.before[link] = other.before;
  }
  ++totals_[{state.port->rail, state.port->is_uplink(), direction}].bursts;
}

// What an uplink sends, pods have sent. What a pod sends leaves by the uplink, or another pod receives it.
Burst BurstRecorder::Finished(const State& state, Direction direction) const {
  const Run& run = *state.run[direction];
  Burst burst = run.burst;
  burst.goes_on = false;
  for (const auto& [link, before] : run.before) {
    const auto it = states_.find(link);
    if (it == states_.end()) continue;
    const State& other = it->second;
    const bool same_way = state.port->is_uplink() || other.port->is_uplink();
    const Direction way = same_way                        ? direction
                          : direction == Direction::kSent ? Direction::kReceived
                                                          : Direction::kSent;
    // This tick is the first after the burst: what was counted until the one before.
    const uint64_t bytes = other.before[way] - std::min(other.before[way], before[way]);
    if (bytes > 0 && bytes >= burst.bytes / kShare) burst.with.push_back({other.port, bytes});
  }
  std::ranges::sort(burst.with, std::ranges::greater{}, &Companion::bytes);
  if (burst.with.size() > kMostCompanions) burst.with.resize(kMostCompanions);
  return burst;
}

void BurstRecorder::EndSecond(State& state, const Moment& now) {
  Second second{.start_ms = state.second_began->unix_ms,
                .ms = Ms(now.at - state.second_began->at),
                .pauses = std::exchange(state.pauses, 0)};
  for (const Direction direction : kDirections) {
    Stretch& stretch = state.stretch[direction];
    stretch.above_ms = Ms(state.above[direction]);
    stretch.p99 = NearestRank(state.rates[direction], 0.99);
    second.of[direction] = std::exchange(stretch, {});
    state.above[direction] = {};
    state.rates[direction].clear();
  }
  state.seconds.push_back(second);
  state.second_began = now;
  while (state.seconds.size() > static_cast<size_t>(kKept / kSecond)) state.seconds.pop_front();
  Forget(now.unix_ms - std::chrono::milliseconds(kKept).count());
}

void BurstRecorder::Forget(int64_t before_ms) {
  while (!bursts_.empty() &&
         (bursts_.size() > kMostBursts || bursts_.front().start_ms + bursts_.front().ms < before_ms))
    bursts_.pop_front();
}

void BurstRecorder::Pauses(const std::string& link, uint64_t total) {
  const auto it = states_.find(link);
  if (it == states_.end()) return;
  State& state = it->second;
  if (state.pauses_before && total > *state.pauses_before) state.pauses += total - *state.pauses_before;
  state.pauses_before = total;
}

const std::deque<Second>& BurstRecorder::SecondsOf(const std::string& link) const {
  static const std::deque<Second> none;
  const auto it = states_.find(link);
  return it == states_.end() ? none : it->second.seconds;
}

std::vector<PortPtr> BurstRecorder::ports() const {
  std::vector<PortPtr> ports;
  for (const auto& [link, state] : states_) ports.push_back(state.port);
  return ports;
}

std::vector<Burst> BurstRecorder::Since(int64_t since_ms) const {
  std::vector<Burst> found;
  for (const Burst& burst : bursts_) {
    if (burst.start_ms + burst.ms >= since_ms) found.push_back(burst);
  }
  for (const auto& [link, state] : states_) {
    for (const Direction direction : kDirections) {
      if (!state.run[direction]) continue;
      found.push_back(Finished(state, direction));
      found.back().goes_on = true;
    }
  }
  return found;
}

}  // namespace rail::counters
