// Which pairs would be bad if a thing were broken: what Blame and Search reason with.
//
// Use:      const Fabric fabric(seats);   for (const auto& [scope, bad] : Explain(fabric, measured)) ...
// Threads:  pure functions
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "cmd/railctl/accept/suspects.h"

namespace rail::accept {

constexpr size_t kNone = static_cast<size_t>(-1);

// A thing that may be broken. Things are named by seats: a node, a leaf and a rail by their first one.
struct Scope {
  Suspect::Kind kind = Suspect::kPair;
  size_t a = kNone;  // kNone: all rails
  size_t b = kNone;  // of pairs and boundaries; greater than a

  auto operator<=>(const Scope&) const = default;
};

// By scope: the bad pairs that it explains, as indices of what was measured, ascending.
using Explained = std::map<Scope, std::vector<size_t>>;

class Fabric {
 public:
  explicit Fabric(std::vector<Seat> seats);

  const std::vector<Seat>& Seats() const { return seats_; }
  // The first seats of the seat's rail and leaf; kNone: the leaf is not known.
  size_t RailOf(size_t seat) const { return places_[seat].rail; }
  size_t LeafOf(size_t seat) const { return places_[seat].leaf; }
  // All that the pair passes.
  std::vector<Scope> ScopesOf(size_t a, size_t b) const;
  // Each pair of the scope has one of these.
  std::vector<size_t> SeatsOf(const Scope& scope) const;
  // What explains a bad pair and has no good one.
  Explained Possible(const std::vector<Measured>& measured) const;

 private:
  struct Place {
    size_t node = kNone;
    size_t rail = kNone;
    size_t leaf = kNone;
  };

  std::vector<Seat> seats_;
  std::vector<Place> places_;
};

// What Blame blames, with all bad pairs of each. Each pair is measured once.
Explained Explain(const Fabric& fabric, const std::vector<Measured>& measured);

}  // namespace rail::accept
