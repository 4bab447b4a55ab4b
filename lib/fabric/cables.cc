// Cables that lead to another rail's leaf, or to another unit's: each node has a vote, and the fewer are wrong.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "lib/fabric/cause.h"
#include "lib/fabric/places.h"

namespace rail::fabric {
namespace {

using Rails = std::map<uint32_t, const Cell*>;  // of a node, by the rail's index: those with a leaf

class Cables {
 public:
  explicit Cables(const Look& look) : look_(look) {
    for (const Cell* cell : look.cells) {
      const std::string key = LeafKey(*cell->rail);
      if (key.empty()) continue;
      rails_[cell->node][cell->rail->index()] = cell;
      of_leaf_[key][cell->rail->index()].push_back(cell);
      std::map<std::string, size_t>& votes = units_[key];
      if (!cell->unit.empty()) ++votes[cell->unit];
    }
  }

  void Tell(std::vector<Cause>& found) const {
    for (const Node* node : look_.nodes) {
      const auto at = rails_.find(node);
      if (at == rails_.end()) continue;
      if (!OtherRail(at->second, found)) OtherUnit(at->second, found);
    }
  }

 private:
  static const Cell* Find(const Rails& rails, uint32_t index) {
    const auto at = rails.find(index);
    return at == rails.end() ? nullptr : at->second;
  }

  // On which rail most nodes have the leaf of this cell, if it is another one; of those that have it on one of the two alone.
  std::optional<uint32_t> MostOf(const Cell& cell) const {
    const auto& votes = of_leaf_.at(LeafKey(*cell.rail));
    const uint32_t own = cell.rail->index();
    std::optional<uint32_t> most;
    size_t best = 0;
    for (const auto& [index, cells] : votes) {
      if (index == own) continue;
      const size_t theirs = CountOnly(votes, index, own);
      if (theirs <= best || theirs <= std::max<size_t>(1, CountOnly(votes, own, index))) continue;
      best = theirs;
      most = index;
    }
    return most;
  }

  // Nodes that have the leaf on `index` and not on `other`. The node that is judged may have it on both.
  size_t CountOnly(const std::map<uint32_t, std::vector<const Cell*>>& votes, uint32_t index,
                   uint32_t other) const {
    return static_cast<size_t>(std::ranges::count_if(votes.at(index), [&](const Cell* cell) {
      const Cell* beside = Find(rails_.at(cell->node), other);
      return beside == nullptr || LeafKey(*beside->rail) != LeafKey(*cell->rail);
    }));
  }

  Cause Made(std::string_view id, const Cell& cell, std::string what, const Cell* other = nullptr) const {
    Cause cause{.kind = &KindOf(id),
                .subject = cell.Name(),
                .what = std::move(what),
                .nodes = {cell.node->name},
                .rails = {cell.rail->name()}};
    if (other != nullptr) cause.rails.push_back(other->rail->name());
    return cause;
  }

  bool OtherRail(const Rails& rails, std::vector<Cause>& found) const {
    std::vector<uint32_t> told;  // the other halves of what is swapped
    bool any = false;
    for (const auto& [index, cell] : rails) {
      const auto most = MostOf(*cell);
      if (!most) continue;
      any = true;
      if (std::ranges::find(told, index) != told.end()) continue;
      const Cell* theirs = Find(rails, *most);
      const std::string right =
          theirs == nullptr ? fmt::format("the rail with index {}", *most) : theirs->rail->name();
      if (theirs != nullptr && MostOf(*theirs) == index) {
        told.push_back(*most);
        found.push_back(Made("rails-swapped", *cell,
                             fmt::format("{}: {} and {} have each other's leaves ({}, {})", cell->node->name,
                                         cell->rail->name(), right, cell->leaf, theirs->leaf),
                             theirs));
      } else if (theirs != nullptr && LeafKey(*theirs->rail) == LeafKey(*cell->rail)) {
        found.push_back(
            Made("rails-on-one-leaf", *cell,
                 fmt::format("{}: {} and {} both lead to {}, which is the leaf of {} on other nodes",
                             cell->node->name, cell->rail->name(), right, cell->leaf, right)));
      } else {
        found.push_back(Made("rail-on-other-leaf", *cell,
                             fmt::format("{}: {} leads to {}, which is the leaf of {} on other nodes",
                                         cell->node->name, cell->rail->name(), cell->leaf, right)));
      }
    }
    return any;
  }

  // The unit that most of the others behind the leaf of this cell are of. "": there are none, or half are of another.
  std::string UnitOfOthers(const Cell& cell) const {
    const std::map<std::string, size_t>& votes = units_.at(LeafKey(*cell.rail));
    const auto others = [&cell](const auto& each) { return each.second - (each.first == cell.unit ? 1 : 0); };
    size_t all = 0;
    for (const auto& each : votes) all += others(each);
    for (const auto& each : votes) {
      if (others(each) * 2 > all) return each.first;
    }
    return "";
  }

  void OtherUnit(const Rails& rails, std::vector<Cause>& found) const {
    std::map<std::string, std::vector<const Cell*>> of_unit;
    size_t all = 0;
    for (const auto& [index, cell] : rails) {
      if (const std::string unit = UnitOfOthers(*cell); !unit.empty()) {
        of_unit[unit].push_back(cell);
        ++all;
      }
    }
    if (of_unit.size() < 2) return;
    const auto most =
        std::ranges::max_element(of_unit, {}, [](const auto& each) { return each.second.size(); });
    const bool is_decided = most->second.size() * 2 > all;
    for (const auto& [unit, cells] : of_unit) {
      if (is_decided && unit == most->first) continue;
      const Cell& cell = *cells.front();
      found.push_back(Made(
          "leaf-in-two-units", cell,
          fmt::format("{}: {} leads to {} of {}, {}", cell.node->name, cell.rail->name(), cell.leaf, unit,
                      is_decided ? "and its other rails to " + most->first
                                 : "and another rail to another unit: one of the two is wrong")));
      for (size_t i = 1; i < cells.size(); ++i) found.back().rails.push_back(cells[i]->rail->name());
      if (!is_decided) return;
    }
  }

  const Look& look_;
  std::map<const Node*, Rails> rails_;
  std::map<std::string, std::map<uint32_t, std::vector<const Cell*>>>
      of_leaf_;                                                 // by LeafKey, then the rail's index
  std::map<std::string, std::map<std::string, size_t>> units_;  // of the cells behind a leaf, by LeafKey
};

}  // namespace

void JudgeCables(const Look& look, std::vector<Cause>& found) {
  Cables(look).Tell(found);
}

}  // namespace rail::fabric
