#include "lib/inspect/topology.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace rail::inspect {
namespace {

// leaf, spine, leaf, node
constexpr uint32_t kAcrossSpine = 4;

constexpr std::array kDistances = {"", "same-leaf", "same-unit", "across-spine", "further"};

}  // namespace

Fabric::Fabric(const engine::NodeView& view) : own_(view.asn), paths_(view.as_paths) {
  const engine::Seats none;
  for (const engine::RailView& rail : view.rails) planes_[rail.rail.index] = tenancy::PlaneOf(rail.rail);
  for (const engine::Seat& seat : view.seats ? *view.seats : none) {
    if (seat.node == own_) continue;
    nodes_[seat.node][seat.rail].insert(seat.leaf);
    planes_.try_emplace(seat.rail, seat.plane);
  }
  LeavesOfNode& mine = nodes_[own_];
  for (const engine::RailView& rail : view.rails) {
    if (!rail.leaf) continue;
    mine[rail.rail.index].insert(rail.leaf->leaf.asn);
    own_leaves_.insert(rail.leaf->leaf.asn);
  }
}

// A node is of the unit with which it shares most leaves, more than half of its own, whatever rail each has a leaf on: swapped cables do not
// move a node, and no node joins two units. Nodes with most leaves go first: who is seen on one rail follows, and founds nothing. Only the
// first node of each distinct set of leaves is compared.
std::vector<UnitSeen> Fabric::units() const {
  struct Kind {
    std::set<uint32_t> leaves;
    std::vector<uint32_t> nodes;
  };
  std::map<LeavesOfNode, Kind> by_leaves;
  for (const auto& [node, leaves] : nodes_) {
    Kind& kind = by_leaves[leaves];
    kind.nodes.push_back(node);
    for (const auto& [rail, all] : leaves) kind.leaves.insert(all.begin(), all.end());
  }
  std::vector<const Kind*> kinds;
  for (const auto& [leaves, kind] : by_leaves) kinds.push_back(&kind);
  std::ranges::stable_sort(kinds, [](const Kind* a, const Kind* b) {
    return std::pair(a->leaves.size(), a->nodes.size()) > std::pair(b->leaves.size(), b->nodes.size());
  });
  std::vector<UnitSeen> units;
  std::vector<std::map<uint32_t, size_t>> users;  // of each unit: how many of its nodes have a leaf
  for (const Kind* kind : kinds) {
    std::pair<size_t, size_t> most;  // shared leaves; of equals, who has more nodes there
    size_t best = units.size();
    for (size_t i = 0; i < units.size(); ++i) {
      std::pair<size_t, size_t> shared;
      for (const uint32_t leaf : kind->leaves) {
        const auto there = users[i].find(leaf);
        if (there == users[i].end()) continue;
        ++shared.first;
        shared.second += there->second;
      }
      if (2 * shared.first > kind->leaves.size() && shared > most) {
        most = shared;
        best = i;
      }
    }
    if (best == units.size()) {
      units.emplace_back();
      users.emplace_back();
    }
    UnitSeen& unit = units[best];
    for (const uint32_t node : kind->nodes) {
      unit.nodes.push_back(node);
      unit.own = unit.own || node == own_;
      for (const auto& [rail, leaves] : nodes_.at(node)) {
        for (const uint32_t leaf : leaves) unit.leaves.emplace(rail, leaf);
      }
    }
    for (const uint32_t leaf : kind->leaves) users[best][leaf] += kind->nodes.size();
  }
  for (UnitSeen& unit : units) std::ranges::sort(unit.nodes);
  std::ranges::sort(units, [](const UnitSeen& a, const UnitSeen& b) {
    return std::tuple(!a.own, b.nodes.size(), a.leaves) < std::tuple(!b.own, a.nodes.size(), b.leaves);
  });
  return units;
}

v1::Distance Fabric::DistanceOf(uint32_t as_path, std::optional<uint32_t> rail) const {
  const uint32_t hops = paths_.Hops(as_path);
  const uint32_t leaf = paths_.Leaf(as_path);
  if (hops == 0 || leaf == 0) return v1::DISTANCE_UNSPECIFIED;
  // Where all leaves have one AS, only the length tells them apart.
  if (hops == 2) {
    const LeavesOfNode& mine = nodes_.at(own_);
    const auto same = rail ? mine.find(*rail) : mine.end();
    return same != mine.end() && same->second.contains(leaf) ? v1::SAME_LEAF : v1::SAME_UNIT;
  }
  if (own_leaves_.contains(leaf)) return v1::SAME_UNIT;
  return hops <= kAcrossSpine ? v1::ACROSS_SPINE : v1::FURTHER;
}

v1::Distance Fabric::DistanceOfNode(uint32_t node) const {
  const auto found = nodes_.find(node);
  if (node == own_ || found == nodes_.end()) return v1::DISTANCE_UNSPECIFIED;
  const LeavesOfNode& mine = nodes_.at(own_);
  v1::Distance nearest = v1::ACROSS_SPINE;
  for (const auto& [rail, leaves] : found->second) {
    for (const uint32_t leaf : leaves) {
      const auto same = mine.find(rail);
      if (same != mine.end() && same->second.contains(leaf)) return v1::SAME_LEAF;
      if (own_leaves_.contains(leaf)) nearest = v1::SAME_UNIT;
    }
  }
  return nearest;
}

std::optional<tenancy::Plane> Fabric::PlaneOf(uint32_t rail) const {
  const auto found = planes_.find(rail);
  return found == planes_.end() ? std::nullopt : found->second;
}

std::string PortText(const engine::RailView& rail) {
  return rail.seen.has_lldp() ? " port " + rail.seen.lldp().port() : "";
}

std::string LeafText(const frr::Leaf& leaf) {
  const std::string as = "AS " + std::to_string(leaf.asn);
  return leaf.name.empty() ? "the leaf " + as : leaf.name + " (" + as + ")";
}

std::string LeafText(const engine::NodeView& view, uint32_t as) {
  for (const engine::RailView& rail : view.rails) {
    if (rail.leaf && rail.leaf->leaf.asn == as) return LeafText(rail.leaf->leaf);
  }
  return "the leaf AS " + std::to_string(as);
}

std::string FabricPathText(const engine::NodeView& view, const engine::RailView& rail, uint32_t as_path,
                           std::optional<uint32_t> remote_rail) {
  std::vector<uint32_t> way = view.as_paths.Numbers(as_path);
  const auto repeated = std::ranges::unique(way);
  way.erase(repeated.begin(), repeated.end());
  if (way.size() < 2 || !rail.leaf) return "";
  const Fabric fabric(view);
  const uint32_t node = way.back();
  const uint32_t last = way[way.size() - 2];
  const uint32_t first = rail.leaf->leaf.asn;
  std::string text = LeafText(rail.leaf->leaf);
  // The path was heard over the address's own rail. What lies between this rail's leaf and the last one is known where the two are one rail.
  if (way.front() == first && way.size() > 2) {
    const size_t between = way.size() - 3;  // 0: the spines leave their AS out, as route servers do
    if (between > 0) text += ", " + std::to_string(between) + (between == 1 ? " spine (" : " hops (");
    for (size_t i = 0; i < between; ++i) text += (i == 0 ? "AS " : ", AS ") + std::to_string(way[i + 1]);
    text += std::string(between > 0 ? ")" : ", the spines") + ", the leaf AS " + std::to_string(last);
  } else if (last != first) {
    text += ", the spines, the leaf AS " + std::to_string(last);
  }
  const v1::Distance distance = last == first ? v1::SAME_LEAF : fabric.DistanceOf(as_path, remote_rail);
  return text + ", the node AS " + std::to_string(node) + ": " +
         kDistances.at(distance == v1::SAME_LEAF && last != first ? v1::SAME_UNIT : distance);
}

}  // namespace rail::inspect
