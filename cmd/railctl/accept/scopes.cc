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

struct Evidence {
  std::vector<size_t> bad;  // as indices of what was measured, ascending
  size_t good = 0;
  std::map<size_t, std::ptrdiff_t> lead;  // by seat: bad pairs, less good ones
};

// Those of `bad` that are left when all suspects are left out that explain nothing else. 0: no single pair is among them.
size_t CountOwn(const Explained& suspects, const std::vector<size_t>& bad) {
  std::vector<size_t> own = bad;
  bool has_single = false;
  for (const auto& [suspect, theirs] : suspects) {
    const bool within = std::ranges::includes(bad, theirs);
    has_single = has_single || (within && suspect.kind == Suspect::kPair);
    if (within || suspect.kind == Suspect::kPair) continue;
    std::erase_if(own, [&pairs = theirs](size_t pair) { return std::ranges::binary_search(pairs, pair); });
  }
  return has_single ? own.size() : 0;
}

// In place of single pairs, and of all else that it explains: what has nine bad pairs for each good one, first that which explains most. Nothing
// that has a healthy seat.
void NameNearlyBad(const Fabric& fabric, const std::vector<Measured>& measured, Explained& found) {
  std::map<Scope, Evidence> scopes;
  for (const auto& [suspect, bad] : found) {
    if (suspect.kind != Suspect::kPair) break;  // pairs are first
    for (const Scope& scope : fabric.ScopesOf(suspect.a, suspect.b)) scopes.try_emplace(scope);
  }
  for (size_t i = 0; i < measured.size() && !scopes.empty(); ++i) {
    const auto [a, b, bad] = measured[i];
    for (const Scope& scope : fabric.ScopesOf(a, b)) {
      const auto at = scopes.find(scope);
      if (at == scopes.end()) continue;
      for (const size_t seat : {a, b}) at->second.lead[seat] += bad ? 1 : -1;
      if (bad) at->second.bad.push_back(i);
      if (!bad) ++at->second.good;
    }
  }
  std::erase_if(scopes, [&fabric](const auto& each) {
    const auto& [bad, good, lead] = each.second;
    const auto is_healthy = [&all = lead](size_t seat) { return all.contains(seat) && all.at(seat) <= 0; };
    return good == 0 || bad.size() < 9 * good || std::ranges::any_of(fabric.SeatsOf(each.first), is_healthy);
  });
  for (;;) {
    const std::pair<const Scope, Evidence>* best = nullptr;
    size_t most = 0;
    for (const auto& each : scopes) {
      const size_t own = CountOwn(found, each.second.bad);
      if (own <= most || own < 9 * each.second.good) continue;
      best = &each;
      most = own;
    }
    if (best == nullptr) return;
    const std::vector<size_t>& bad = best->second.bad;
    std::erase_if(found, [&bad](const auto& each) { return std::ranges::includes(bad, each.second); });
    found[best->first] = bad;
  }
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
  NameNearlyBad(fabric, measured, found);
  return found;
}

}  // namespace rail::accept
