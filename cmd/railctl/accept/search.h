// Finds what is to blame when not every pair is measured: first rounds that mix pairs inside leaves and across, then tests that tell
// suspects apart from what else could be broken.
//
// Use:      Search search(seats);
//           for (auto round = search.NextRound(); !round.empty(); round = search.NextRound()) search.Add(Measure(round));
//           for (const Suspect& suspect : search.Suspects()) ...
// Threads:  one
#pragma once

#include <bit>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "cmd/railctl/accept/rounds.h"
#include "cmd/railctl/accept/scopes.h"
#include "cmd/railctl/accept/suspects.h"

namespace rail::accept {

// The rounds that a search begins with, when a rail has so many seats: log2. Where nothing is wrong they are all, or half as many more
// while two leaves have not met.
constexpr size_t FirstRounds(size_t seats) {
  return seats < 2 ? 0 : std::bit_width(seats - 1);
}

constexpr size_t MostRounds(size_t seats) {
  return seats < 2 ? 0 : 2 * FirstRounds(seats) + 4;
}

class Search {
 public:
  explicit Search(std::vector<Seat> seats);

  // Pairs of all rails, which are measured at the same time; each seat is in one at most. Empty: nothing more to ask.
  std::vector<Pair> NextRound();
  // What the round has shown. A pair that could not be measured is left out.
  void Add(const std::vector<Measured>& round);
  // As Blame does. A broken path of a single pair is found when that pair happens to be asked for, and a broken boundary when its two
  // leaves have met: all do where a rail has fewer pairs of leaves than a quarter of its seats times FirstRounds.
  std::vector<Suspect> Suspects() const;

 private:
  struct Seen {
    bool bad = false;      // the last time
    size_t times_bad = 0;  // ever
  };
  struct Round {
    std::vector<Pair> pairs;
    std::vector<bool> busy;  // by seat
  };

  std::vector<Measured> Last() const;
  bool Mixes() const;
  void Mix(Round& round);
  // Adds a pair of `a` and a seat of the rail whose leaf its own has met least, and less than `limit` times.
  void Meet(size_t a, const std::vector<size_t>& rail, size_t limit, Round& round);
  void Test(Round& round);
  // Adds a pair of the scope that passes as little else as there is that may be broken: a new one that passes none of `suspects`, or,
  // where there are none, any.
  void Ask(const Scope& scope, const Explained& suspects, const Explained& possible, Round& round);
  void Take(size_t a, size_t b, Round& round);

  const Fabric fabric_;
  std::vector<std::vector<size_t>> rails_;              // seats
  size_t largest_ = 0;                                  // seats of a rail
  size_t asked_ = 0;                                    // rounds
  std::map<std::pair<size_t, size_t>, Seen> measured_;  // by pair
  std::map<std::pair<size_t, size_t>, size_t> met_;     // by leaves: pairs asked for
  std::vector<size_t> sent_;                            // by seat
};

}  // namespace rail::accept
