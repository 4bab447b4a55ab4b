#include "cmd/railctl/accept/scopes.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>

namespace rail::accept {
namespace {

void AddBoth(std::vector<Scope>& scopes, Suspect::Kind kind, size_t one, size_t other) {
  if (one != kNone) scopes.push_back({kind, one});
  if (other != kNone && other != one) scopes.push_back({kind, other});
}

// Of `left`, which is not empty: the first scope, narrowest first, that explains most and has no twin: another of its kind that explains the same.
Scope Best(const Fabric& fabric, const std::vector<Measured>& measured, const Explained& left) {
  size_t most = 0;
  for (const auto& [scope, bad] : left) most = std::max(most, bad.size());
  Scope best = left.begin()->first;
  bool is_first = true;
  for (const auto& [scope, bad] : left) {
    if (bad.size() != most) continue;
    const auto is_twin = [&left, &one = scope, &all = bad](const Scope& other) {
      const auto found = left.find(other);
      return other.kind == one.kind && other != one && found != left.end() && found->second == all;
    };
    const Measured& pair = measured[bad.front()];
    if (std::ranges::none_of(fabric.ScopesOf(pair.a, pair.b), is_twin)) return scope;
    if (is_first) best = scope;
    is_first = false;
  }
  return best;
}

}  // namespace

Fabric::Fabric(std::vector<Seat> seats) : seats_(std::move(seats)) {
  std::unordered_map<std::string, size_t> nodes;
  std::unordered_map<std::string, size_t> rails;
  std::unordered_map<std::string, size_t> leaves;
  for (size_t i = 0; i < seats_.size(); ++i) {
    const Seat& seat = seats_[i];
    places_.push_back({nodes.try_emplace(seat.node, i).first->second,
                       rails.try_emplace(seat.rail, i).first->second,
                       seat.leaf.empty() ? kNone : leaves.try_emplace(seat.leaf, i).first->second});
  }
}

std::vector<Scope> Fabric::ScopesOf(size_t a, size_t b) const {
  const Place& one = places_[a];
  const Place& other = places_[b];
  std::vector<Scope> scopes{{Suspect::kPair, std::min(a, b), std::max(a, b)}, {Suspect::kRail, kNone}};
  scopes.reserve(13);
  AddBoth(scopes, Suspect::kNic, a, b);
  AddBoth(scopes, Suspect::kNode, one.node, other.node);
  AddBoth(scopes, Suspect::kLeaf, one.leaf, other.leaf);
  AddBoth(scopes, Suspect::kRail, one.rail, other.rail);
  if (one.leaf != kNone && other.leaf != kNone && one.leaf != other.leaf) {
    const auto [low, high] = std::minmax(one.leaf, other.leaf);
    scopes.push_back({Suspect::kBoundary, low, high});
    AddBoth(scopes, Suspect::kUplinks, low, high);
  }
  return scopes;
}

std::vector<size_t> Fabric::SeatsOf(const Scope& scope) const {
  if (scope.kind == Suspect::kPair || scope.kind == Suspect::kNic) return {scope.a};
  std::vector<size_t> seats;
  for (size_t i = 0; i < seats_.size(); ++i) {
    const Place& place = places_[i];
    const bool has = scope.kind == Suspect::kNode   ? place.node == scope.a
                     : scope.kind == Suspect::kRail ? scope.a == kNone || place.rail == scope.a
                                                    : place.leaf == scope.a;
    if (has) seats.push_back(i);
  }
  return seats;
}

Explained Fabric::Possible(const std::vector<Measured>& measured) const {
  Explained possible;
  for (size_t i = 0; i < measured.size(); ++i) {
    if (!measured[i].bad) continue;
    for (const Scope& scope : ScopesOf(measured[i].a, measured[i].b)) possible[scope].push_back(i);
  }
  if (possible.empty()) return possible;
  for (const Measured& pair : measured) {
    if (pair.bad) continue;
    for (const Scope& scope : ScopesOf(pair.a, pair.b)) possible.erase(scope);
  }
  return possible;
}

Explained Explain(const Fabric& fabric, const std::vector<Measured>& measured) {
  const Explained possible = fabric.Possible(measured);
  std::vector<bool> done(measured.size(), false);
  Explained found;
  for (Explained left = possible; !left.empty();) {
    const Scope best = Best(fabric, measured, left);
    if (left.at(best).size() == 1) {  // nothing explains two: what is left are single pairs
      std::ranges::copy_if(left, std::inserter(found, found.end()),
                           [](const auto& each) { return each.first.kind == Suspect::kPair; });
      break;
    }
    found[best] = possible.at(best);
    for (const size_t pair : found[best]) done[pair] = true;
    for (auto& [scope, bad] : left) std::erase_if(bad, [&done](size_t pair) { return done[pair]; });
    std::erase_if(left, [](const auto& each) { return each.second.empty(); });
  }
  return found;
}

}  // namespace rail::accept
