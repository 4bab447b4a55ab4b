// The rounds in which every pair is measured: the circle method of tournaments.
//
// Use:      for (const std::vector<Pair>& round : Rounds(64)) ...   // 63 rounds of 32 pairs
// Threads:  pure functions
#pragma once

#include <cstddef>
#include <vector>

namespace rail::accept {

// Two of those that are measured, by their numbers. `a` sends to `b`.
struct Pair {
  size_t a = 0;
  size_t b = 0;
};

// Every pair of `count` once, and each of them at most once in a round: count - 1 rounds; count rounds where `count` is odd, and one
// rests in each. Each sends as often as it receives, or once more or less.
std::vector<std::vector<Pair>> Rounds(size_t count);

}  // namespace rail::accept
