#include "lib/fabric/cause.h"

#include <algorithm>
#include <set>

namespace rail::fabric {
namespace {

std::vector<const Cell*> SeenCells(const Grid& grid) {
  std::vector<const Cell*> cells;
  for (const Cell& cell : grid.cells()) {
    if (cell.node->IsSeen()) cells.push_back(&cell);
  }
  return cells;
}

std::vector<const Node*> SeenNodes(const Fleet& fleet) {
  std::vector<const Node*> nodes;
  for (const auto& [name, node] : fleet.nodes()) {
    if (node.IsSeen()) nodes.push_back(&node);
  }
  return nodes;
}

}  // namespace

Look::Look(const Fleet& the_fleet, const Grid& the_grid, int64_t the_time)
    : fleet(the_fleet),
      grid(the_grid),
      now_ms(the_time),
      cells(SeenCells(the_grid)),
      nodes(SeenNodes(the_fleet)),
      of_cells(cells.size()),
      of_nodes(nodes.size()) {
  std::set<std::string_view> units;
  std::set<std::string_view> versions;
  for (const Node* node : nodes) {
    versions.insert(node->state.node().version());
    if (const std::string& unit = grid.UnitOf(node->name); !unit.empty()) units.insert(unit);
  }
  const auto put = [&](Cover& cover, size_t item, const Node& node) {
    const std::string& unit = grid.UnitOf(node.name);
    const std::string& version = node.state.node().version();
    if (units.size() > 1 && !unit.empty()) cover.Put(item, Scope::kUnit, unit, unit);
    if (versions.size() > 1) cover.Put(item, Scope::kVersion, version, "raild " + version);
    cover.Put(item, Scope::kFleet, "", "");
  };
  for (size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = *cells[i];
    if (const std::string leaf = LeafScope(cell); !leaf.empty())
      of_cells.Put(i, Scope::kLeaf, leaf, LeafName(cell));
    of_cells.Put(i, Scope::kNode, cell.node->name, cell.node->name);
    of_cells.Put(i, Scope::kRail, std::to_string(cell.rail->index()), cell.rail->name());
    put(of_cells, i, *cell.node);
  }
  for (size_t i = 0; i < nodes.size(); ++i) put(of_nodes, i, *nodes[i]);
}

std::string LeafScope(const Cell& cell) {
  if (!cell.leaf.empty()) return cell.leaf;
  return cell.unit.empty() ? "" : cell.unit + "/" + std::to_string(cell.rail->index());
}

std::string LeafName(const Cell& cell) {
  if (!cell.leaf.empty()) return cell.leaf;
  return cell.unit.empty() ? "its leaf" : "the leaf of " + cell.unit + " on " + cell.rail->name();
}

std::vector<const Cell*> At(const Look& look, const std::vector<size_t>& places) {
  std::vector<const Cell*> cells;
  cells.reserve(places.size());
  for (const size_t place : places) cells.push_back(look.cells[place]);
  return cells;
}

std::vector<std::string> NodesOf(const std::vector<const Cell*>& cells) {
  std::set<std::string, NaturalLess> names;
  for (const Cell* cell : cells) names.insert(cell->node->name);
  return {names.begin(), names.end()};
}

std::vector<std::string> RailsOf(const std::vector<const Cell*>& cells) {
  std::set<std::string, NaturalLess> names;
  for (const Cell* cell : cells) names.insert(cell->rail->name());
  return {names.begin(), names.end()};
}

int64_t SinceOf(const std::vector<const Cell*>& cells) {
  int64_t since = 0;
  for (const Cell* cell : cells) since = std::max(since, cell->since_ms);
  return since;
}

}  // namespace rail::fabric
