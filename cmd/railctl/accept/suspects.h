// Who is to blame for pairs that are slow or lost.
//
// Use:      for (const Suspect& suspect : Blame(seats, measured)) out << suspect.sentence;
// Threads:  pure functions
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rail::accept {

// An end of pairs: a pod's interface on a rail. Its name is "node/rail".
struct Seat {
  std::string node;
  std::string rail;
  std::string leaf;  // "": not known
};

// What was seen of two seats. `bad`: too slow, or lost.
struct Measured {
  size_t a = 0;
  size_t b = 0;
  bool bad = false;
};

struct Suspect {
  // The narrowest first.
  enum Kind {
    kPair,      // names: two seats
    kNic,       // a seat: the NIC, or its cable to the leaf
    kNode,      // a node
    kBoundary,  // two leaves: what is between them
    kUplinks,   // a leaf: what is between it and all others
    kLeaf,      // a leaf
    kRail,      // a rail; all rails, where every pair is bad
  };
  Kind kind = kPair;
  std::vector<std::string> names{};
  std::string sentence{};
};

// The fewest suspects that explain every bad pair and none of which has a good pair: first the one that explains most; of those that
// explain the same, first one that has no twin of its kind, then the narrowest. In place of pairs that are left: a suspect that has nine
// bad pairs for each good one, and no healthy seat. Of a pair that was measured several times the last counts.
std::vector<Suspect> Blame(const std::vector<Seat>& seats, const std::vector<Measured>& measured);

}  // namespace rail::accept
