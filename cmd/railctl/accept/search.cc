#include "cmd/railctl/accept/search.h"

#include <algorithm>
#include <limits>

namespace rail::accept {
namespace {

// Those of `bad` that no other suspect explains.
std::vector<size_t> Own(const Explained& suspects, const Scope& suspect, std::vector<size_t> bad) {
  for (const auto& [other, theirs] : suspects) {
    if (other == suspect) continue;
    std::erase_if(bad, [&all = theirs](size_t pair) { return std::ranges::binary_search(all, pair); });
  }
  return bad;
}

}  // namespace

Search::Search(std::vector<Seat> seats) : fabric_(std::move(seats)), sent_(fabric_.Seats().size()) {
  std::map<size_t, std::vector<size_t>> by_rail;
  for (size_t i = 0; i < sent_.size(); ++i) by_rail[fabric_.RailOf(i)].push_back(i);
  for (const auto& [first, rail] : by_rail) {
    rails_.push_back(rail);
    largest_ = std::max(largest_, rail.size());
    for (size_t i = 0; i < rail.size(); ++i) {
      for (size_t j = 0; j < i; ++j) met_[std::minmax(fabric_.LeafOf(rail[i]), fabric_.LeafOf(rail[j]))] = 0;
    }
  }
}

std::vector<Pair> Search::NextRound() {
  if (asked_ >= MostRounds(largest_)) return {};
  Round round{.busy = std::vector<bool>(sent_.size(), false)};
  if (Mixes()) Mix(round);
  if (round.pairs.empty()) Test(round);
  ++asked_;
  return std::move(round.pairs);
}

void Search::Add(const std::vector<Measured>& round) {
  for (const Measured& pair : round) {
    Seen& seen = measured_[std::minmax(pair.a, pair.b)];
    seen.bad = pair.bad;
    if (pair.bad) ++seen.times_bad;
  }
}

std::vector<Suspect> Search::Suspects() const {
  return Blame(fabric_.Seats(), Last());
}

std::vector<Measured> Search::Last() const {
  std::vector<Measured> last;
  last.reserve(measured_.size());
  for (const auto& [pair, seen] : measured_) last.push_back({pair.first, pair.second, seen.bad});
  return last;
}

bool Search::Mixes() const {
  const size_t first = FirstRounds(largest_);
  if (asked_ < first) return true;
  const auto never = [](const auto& leaves) { return leaves.second == 0; };
  return asked_ < first + first / 2 && std::ranges::any_of(met_, never);
}

// A matching of each rail: first those whose leaves have never met, then every seat with one of the leaf that its own has met least.
void Search::Mix(Round& round) {
  for (const std::vector<size_t>& rail : rails_) {
    for (const size_t limit : {size_t{1}, std::numeric_limits<size_t>::max()}) {
      for (size_t i = 0; i < rail.size(); ++i) Meet(rail[(i + asked_) % rail.size()], rail, limit, round);
    }
  }
}

void Search::Meet(size_t a, const std::vector<size_t>& rail, size_t limit, Round& round) {
  if (round.busy[a]) return;
  size_t partner = kNone;
  for (const size_t b : rail) {
    if (round.busy[b] || a == b || measured_.contains(std::minmax(a, b))) continue;
    const size_t met = met_.at(std::minmax(fabric_.LeafOf(a), fabric_.LeafOf(b)));
    if (met >= limit) continue;
    limit = met;
    partner = b;
  }
  if (partner != kNone) Take(a, partner, round);
}

// Whatever else may be broken is tested where no suspect would explain the answer, and each suspect has to have been bad twice.
void Search::Test(Round& round) {
  const std::vector<Measured> last = Last();
  const Explained possible = fabric_.Possible(last);
  const Explained suspects = Explain(fabric_, last);
  for (const auto& [other, bad] : possible) {
    if (!suspects.contains(other)) Ask(other, suspects, possible, round);
  }
  for (const auto& [suspect, bad] : suspects) {
    size_t times = 0;
    for (const size_t pair : Own(suspects, suspect, bad)) {
      times += measured_.at({last[pair].a, last[pair].b}).times_bad;
    }
    if (times < 2) Ask(suspect, {}, possible, round);
  }
}

void Search::Ask(const Scope& scope, const Explained& suspects, const Explained& possible, Round& round) {
  size_t least = std::numeric_limits<size_t>::max();
  Pair best;
  for (const size_t a : fabric_.SeatsOf(scope)) {
    if (round.busy[a]) continue;
    for (size_t b = 0; b < sent_.size(); ++b) {
      if (b == a || round.busy[b] || fabric_.RailOf(a) != fabric_.RailOf(b)) continue;
      const bool known = measured_.contains(std::minmax(a, b));
      if (known && !suspects.empty()) continue;
      const std::vector<Scope> scopes = fabric_.ScopesOf(a, b);
      if (std::ranges::find(scopes, scope) == scopes.end()) continue;
      if (std::ranges::any_of(scopes, [&](const Scope& each) { return suspects.contains(each); })) continue;
      size_t doubts = known ? scopes.size() : 0;  // a new pair says more
      for (const Scope& each : scopes) doubts += possible.count(each);
      if (doubts >= least) continue;
      least = doubts;
      best = {a, b};
    }
  }
  if (best.a != best.b) Take(best.a, best.b, round);
}

void Search::Take(size_t a, size_t b, Round& round) {
  round.busy[a] = round.busy[b] = true;
  if (sent_[a] > sent_[b]) std::swap(a, b);
  round.pairs.push_back({a, b});
  ++sent_[a];
  ++met_.at(std::minmax(fabric_.LeafOf(a), fabric_.LeafOf(b)));
}

}  // namespace rail::accept
