// Simulated fabrics for tests: node n<i> has a seat on each rail, and the seats of a rail are spread over its leaves in blocks.
//
// Use:      const auto seats = SeatsOf({.nodes = 8});   Blame(seats, Measure(seats, {{Suspect::kNode, {"n3"}}}, AllPairs({.nodes = 8})));
// Threads:  pure functions
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cmd/railctl/accept/rounds.h"
#include "cmd/railctl/accept/suspects.h"

namespace rail::accept::testing {

using Fault = std::pair<Suspect::Kind, std::vector<std::string>>;

struct Shape {
  size_t nodes = 64;
  size_t rails = 8;
  size_t leaves = 4;  // of a rail; 0: unknown
};

inline std::vector<Seat> SeatsOf(const Shape& shape) {
  std::vector<Seat> seats;
  for (size_t rail = 0; rail < shape.rails; ++rail) {
    for (size_t node = 0; node < shape.nodes; ++node) {
      const std::string leaf = shape.leaves == 0 ? ""
                                                 : "r" + std::to_string(rail) + "l" +
                                                       std::to_string(node * shape.leaves / shape.nodes);
      seats.push_back({"n" + std::to_string(node), "rail" + std::to_string(rail), leaf});
    }
  }
  return seats;
}

inline std::string NameOf(const Seat& seat) {
  return seat.node + "/" + seat.rail;
}

inline bool Breaks(const Fault& fault, const Seat& a, const Seat& b) {
  const auto& [kind, names] = fault;
  const auto either = [&](const std::string& one, const std::string& other) {
    return one == names[0] || other == names[0];
  };
  const auto both = [&](const std::string& one, const std::string& other) {
    return (one == names[0] && other == names[1]) || (one == names[1] && other == names[0]);
  };
  switch (kind) {
    case Suspect::kPair: return both(NameOf(a), NameOf(b));
    case Suspect::kNic: return either(NameOf(a), NameOf(b));
    case Suspect::kNode: return either(a.node, b.node);
    case Suspect::kBoundary: return both(a.leaf, b.leaf);
    case Suspect::kUplinks: return a.leaf != b.leaf && either(a.leaf, b.leaf);
    case Suspect::kLeaf: return either(a.leaf, b.leaf);
    case Suspect::kRail: return either(a.rail, b.rail);
  }
  return false;
}

inline std::vector<Measured> Measure(const std::vector<Seat>& seats, const std::vector<Fault>& faults,
                                     const std::vector<Pair>& pairs) {
  std::vector<Measured> measured;
  for (const Pair& pair : pairs) {
    measured.push_back({pair.a, pair.b, std::ranges::any_of(faults, [&](const Fault& fault) {
                          return Breaks(fault, seats[pair.a], seats[pair.b]);
                        })});
  }
  return measured;
}

inline std::vector<Pair> AllPairs(const Shape& shape) {
  std::vector<Pair> pairs;
  for (const auto& round : Rounds(shape.nodes)) {
    for (const Pair& pair : round) {
      for (size_t rail = 0; rail < shape.rails; ++rail) {
        pairs.push_back({rail * shape.nodes + pair.a, rail * shape.nodes + pair.b});
      }
    }
  }
  return pairs;
}

inline std::vector<Fault> FaultsOf(const std::vector<Suspect>& suspects) {
  std::vector<Fault> faults;
  for (const Suspect& suspect : suspects) {
    EXPECT_FALSE(suspect.sentence.empty());
    std::vector<std::string> names = suspect.names;
    std::ranges::sort(names);
    faults.emplace_back(suspect.kind, std::move(names));
  }
  return faults;
}

inline std::vector<Suspect> BlameOf(const Shape& shape, const std::vector<Fault>& faults) {
  const std::vector<Seat> seats = SeatsOf(shape);
  return Blame(seats, Measure(seats, faults, AllPairs(shape)));
}

inline std::vector<Fault> Found(const Shape& shape, const std::vector<Fault>& faults) {
  return FaultsOf(BlameOf(shape, faults));
}

}  // namespace rail::accept::testing
