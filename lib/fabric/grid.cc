#include "lib/fabric/grid.h"

#include <algorithm>

#include "lib/fabric/text.h"

namespace rail::fabric {
namespace {

bool Fits(const std::string& wanted, std::string_view is) {
  return wanted.empty() || wanted == is;
}

std::string FirstProblem(const Node& node, std::span<const Cell> cells) {
  if (node.away_ms != 0) return node.away_why;
  for (const Cell& cell : cells) {
    if (cell.IsRed()) return cell.rail->name() + ": " + SentenceOf(*cell.rail, *cell.shows.front());
  }
  for (const v1::HealthPart& part : node.state.node().health()) {
    if (!part.ok()) return part.part() + ": " + part.problem();
  }
  return "";
}

v1::FleetNode::State StateOf(const Node& node, bool is_failing) {
  if (!node.heard) return v1::FleetNode::FLEET_UNHEARD;
  if (node.away_ms != 0) return v1::FleetNode::FLEET_AWAY;
  return is_failing ? v1::FleetNode::FLEET_FAILING : v1::FleetNode::FLEET_READY;
}

v1::FleetNode ToMessage(const Node& node, const Grid& grid) {
  const std::span<const Cell> cells = grid.OfNode(node.name);
  const auto& health = node.state.node().health();
  const auto failed = std::ranges::count_if(health, [](const v1::HealthPart& part) { return !part.ok(); });
  const auto ready =
      std::ranges::count_if(cells, [](const Cell& cell) { return cell.rail->state() == v1::Rail::READY; });
  const auto pods = std::ranges::count_if(
      node.attachments, [](const auto& each) { return each.second.state() == v1::Attachment::STATE_READY; });
  v1::FleetNode message;
  message.set_name(node.name);
  message.set_unit(grid.UnitOf(node.name));
  message.set_state(StateOf(node, failed > 0 || std::ranges::any_of(cells, &Cell::IsRed)));
  message.set_rails_ready(static_cast<uint32_t>(ready));
  message.set_rails(static_cast<uint32_t>(cells.size()));
  message.set_attachments_ready(static_cast<uint32_t>(pods));
  message.set_attachments(static_cast<uint32_t>(node.attachments.size()));
  message.set_remotes(node.state.learned().remotes());
  message.set_version(node.state.node().version());
  if (node.state.node().has_started()) *message.mutable_started() = node.state.node().started();
  if (node.away_ms != 0) *message.mutable_away_since() = Stamp(node.away_ms);
  message.set_parts_failed(static_cast<uint32_t>(failed));
  message.set_problem(FirstProblem(node, cells));
  return message;
}

v1::FleetRail ToMessage(const Cell& cell) {
  const v1::Rail& rail = *cell.rail;
  v1::FleetRail message;
  message.set_node(cell.node->name);
  message.set_rail(rail.name());
  message.set_index(rail.index());
  message.set_number(rail.number());
  if (rail.has_plane()) message.set_plane(rail.plane());
  message.set_unit(cell.unit);
  message.set_leaf(cell.leaf);
  message.set_leaf_heard(rail.leaf().heard());
  message.set_leaf_port(rail.lldp().port());
  message.set_state(rail.state());
  message.set_carrier(rail.carrier());
  message.set_bgp_state(rail.bgp_state());
  message.set_devices_healthy(rail.devices_healthy());
  message.set_devices(rail.devices());
  message.set_attachments(cell.pods.all);
  message.set_carrier_losses(rail.carrier_losses());
  if (cell.since_ms != 0) *message.mutable_since() = Stamp(cell.since_ms);
  if (cell.node->away_ms != 0) *message.mutable_away_since() = Stamp(cell.node->away_ms);
  if (!cell.IsRed()) return message;
  message.set_finding(cell.shows.front()->id);
  message.set_severity(cell.shows.front()->severity);
  message.set_problem(SentenceOf(rail, *cell.shows.front()));
  return message;
}

}  // namespace

Grid::Grid(const Fleet& fleet) : places_(fleet) {
  for (const auto& [name, node] : fleet.nodes()) {
    std::map<std::string_view, PodsOfRail> pods;
    for (const auto& [id, attachment] : node.attachments) pods[attachment.rail()].Add(attachment);
    const size_t first = cells_.size();
    for (const v1::Rail& rail : node.state.rails()) {
      Cell cell{.node = &node,
                .rail = &rail,
                .unit = places_.UnitOf(name),
                .leaf = places_.LeafOf(name, rail),
                .pods = pods[rail.name()]};
      cell.shows = ShownBy(rail, cell.pods);
      const auto since = node.since_ms.find(rail.name());
      if (rail.state() != v1::Rail::READY && since != node.since_ms.end()) cell.since_ms = since->second;
      cells_.push_back(std::move(cell));
    }
    std::sort(cells_.begin() + static_cast<std::ptrdiff_t>(first), cells_.end(),
              [](const Cell& a, const Cell& b) { return a.rail->index() < b.rail->index(); });
    of_node_[name] = {first, cells_.size() - first};
  }
}

std::span<const Cell> Grid::OfNode(std::string_view node) const {
  const auto at = of_node_.find(node);
  if (at == of_node_.end()) return {};
  return std::span(cells_).subspan(at->second.first, at->second.second);
}

const Cell* Grid::Find(std::string_view node, std::string_view rail) const {
  for (const Cell& cell : OfNode(node)) {
    if (cell.rail->name() == rail) return &cell;
  }
  return nullptr;
}

v1::FleetTotals Totals(const Fleet& fleet, const Grid& grid) {
  uint32_t away = 0;
  uint32_t unheard = 0;
  for (const auto& [name, node] : fleet.nodes()) {
    if (!node.heard) ++unheard;
    if (node.heard && node.away_ms != 0) ++away;
  }
  const auto red = std::ranges::count_if(
      grid.cells(), [](const Cell& cell) { return cell.IsRed() && cell.node->IsSeen(); });
  v1::FleetTotals totals;
  totals.set_nodes(static_cast<uint32_t>(fleet.nodes().size()));
  totals.set_nodes_away(away);
  totals.set_nodes_unheard(unheard);
  totals.set_rails(static_cast<uint32_t>(grid.cells().size()));
  totals.set_rails_red(static_cast<uint32_t>(red));
  totals.set_attachments(static_cast<uint32_t>(fleet.attachments().size()));
  return totals;
}

v1::ListFleetNodesResponse ListNodes(const Fleet& fleet, const Grid& grid,
                                     const v1::ListFleetNodesRequest& request) {
  v1::ListFleetNodesResponse response;
  for (const auto& [name, node] : fleet.nodes()) {
    if (Fits(request.node(), name) && Fits(request.unit(), grid.UnitOf(name)))
      *response.add_nodes() = ToMessage(node, grid);
  }
  *response.mutable_totals() = Totals(fleet, grid);
  return response;
}

v1::ListFleetRailsResponse ListRails(const Grid& grid, const v1::ListFleetRailsRequest& request) {
  v1::ListFleetRailsResponse response;
  for (const Cell& cell : grid.cells()) {
    if (Fits(request.node(), cell.node->name) && Fits(request.rail(), cell.rail->name()) &&
        Fits(request.unit(), cell.unit) && Fits(request.leaf(), cell.leaf) &&
        (!request.red() || cell.IsRed()))
      *response.add_rails() = ToMessage(cell);
  }
  return response;
}

}  // namespace rail::fabric
