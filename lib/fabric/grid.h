// Nodes x rails: where each rail is (unit, leaf), and what it shows.
//
// Use:      const Grid grid(fleet);      for (const Cell& cell : grid.OfNode("n1")) ...
//           ListNodes(fleet, grid, request);  ListRails(grid, request);
// Threads:  pure; a Grid refers to the fleet, and holds until it changes
// Cost:     O(rails + attachments) to make; make it once a batch of changes, not once a question
// Source:   README.md of this folder ("Units and leaves")
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/fabric/fleet.h"
#include "lib/fabric/kinds.h"
#include "lib/fabric/places.h"
#include "lib/fabric/symptoms.h"

namespace rail::fabric {

// A rail of a node.
struct Cell {
  const Node* node = nullptr;
  const v1::Rail* rail = nullptr;
  std::string unit;      // "": not known
  std::string leaf;      // what people call it; "": not known
  int64_t since_ms = 0;  // since when it is not Ready; 0: it is, or railfabric has not seen it begin
  std::vector<const Kind*> shows;  // the worst first; empty: it is green
  PodsOfRail pods;

  bool IsRed() const { return !shows.empty(); }
  // Whether it has a way to its leaf.
  bool HasLink() const { return shows.empty() || std::none_of(shows.begin(), shows.end(), IsLink); }
  // "n1/rail0"
  std::string Name() const { return node->name + "/" + rail->name(); }

 private:
  static bool IsLink(const Kind* kind) {
    return kind->of == Kind::Of::kLink || kind->id == "rail-without-bridge";
  }
};

class Grid {
 public:
  explicit Grid(const Fleet& fleet);

  // By node, then the rail's index.
  const std::vector<Cell>& cells() const { return cells_; }
  std::span<const Cell> OfNode(std::string_view node) const;
  // nullptr: the node has no such rail.
  const Cell* Find(std::string_view node, std::string_view rail) const;
  // "": not known.
  const std::string& UnitOf(std::string_view node) const { return places_.UnitOf(node); }

 private:
  Places places_;
  std::vector<Cell> cells_;
  std::map<std::string_view, std::pair<size_t, size_t>> of_node_;  // the first, and how many
};

v1::FleetTotals Totals(const Fleet& fleet, const Grid& grid);
v1::ListFleetNodesResponse ListNodes(const Fleet& fleet, const Grid& grid,
                                     const v1::ListFleetNodesRequest& request);
v1::ListFleetRailsResponse ListRails(const Grid& grid, const v1::ListFleetRailsRequest& request);

}  // namespace rail::fabric
