// Nodes x rails: where each rail is (unit, leaf), and the worst that it shows.
//
// Use:      const Grid grid(fleet);      grid.OfNode("n1");
//           ListNodes(fleet, grid, request);  ListRails(grid, request);
// Threads:  pure functions; a Grid refers to the fleet, and holds until it changes
// Cost:     O(rails) to make: a few milliseconds for 16,000; make it once a change, not once a question
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/fabric/fleet.h"
#include "lib/fabric/kinds.h"

namespace rail::fabric {

// A rail of a node.
struct Cell {
  const Node* node = nullptr;
  const v1::Rail* rail = nullptr;
  std::string unit;  // "": not known
  std::string leaf;  // what people call it; "": not known
  bool heard =
      false;  // the rail hears its leaf now; false: the leaf is what it was, or what its unit's others have
  int64_t since_ms = 0;            // of what it shows; 0: not known
  std::vector<const Kind*> shows;  // the worst first; empty: it is green
  uint32_t attachments = 0;

  bool IsRed() const { return !shows.empty(); }
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
  const std::string& UnitOf(std::string_view node) const;

 private:
  std::vector<Cell> cells_;
  std::map<std::string_view, std::pair<size_t, size_t>> of_node_;  // first, behind the last
  std::map<std::string_view, std::string> units_;
};

v1::FleetTotals Totals(const Fleet& fleet, const Grid& grid);
v1::ListFleetNodesResponse ListNodes(const Fleet& fleet, const Grid& grid,
                                     const v1::ListFleetNodesRequest& request);
v1::ListFleetRailsResponse ListRails(const Grid& grid, const v1::ListFleetRailsRequest& request);

}  // namespace rail::fabric
