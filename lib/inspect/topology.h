// Where this node and others are in the fabric, from what the view holds of leaves and AS paths.
//
// Use:      const Fabric fabric(*views.Current());
//           fabric.DistanceOf(remote.as_path, rail_index);   fabric.units();
// Threads:  pure; a Fabric holds what it needs of the view
// Cost:     O(seats) to make: one for each other node and rail
// Source:   README.md of this folder ("Topology")
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/engine/view.h"

namespace rail::inspect {

// A node's leaves, as AS numbers by the rail's index. Where pods of one rail are announced behind two leaves (it is being cabled anew), all.
using LeavesOfNode = std::map<uint32_t, std::set<uint32_t>>;

// Nodes that share leaves.
struct UnitSeen {
  bool own = false;
  std::set<std::pair<uint32_t, uint32_t>> leaves;  // the rail's index, AS
  std::vector<uint32_t> nodes;                     // AS numbers, ascending
};

class Fabric {
 public:
  explicit Fabric(const engine::NodeView& view);

  // By AS number. This node's own leaves are those that it has heard, or last heard.
  const std::map<uint32_t, LeavesOfNode>& nodes() const { return nodes_; }
  uint32_t own() const { return own_; }
  // This node's first, then those with most nodes, then by their leaves. A node belongs to the unit with which it shares most leaves.
  std::vector<UnitSeen> units() const;
  v1::Distance DistanceOf(uint32_t as_path, std::optional<uint32_t> rail) const;
  // Never FURTHER: a seat says behind which leaf a node is, and not how many spines are before it.
  v1::Distance DistanceOfNode(uint32_t node) const;
  // Of the rail with this index: as this node's node.json says, else as the first node says that has such a rail. Nothing: nobody says.
  std::optional<tenancy::Plane> PlaneOf(uint32_t rail) const;

 private:
  uint32_t own_ = 0;
  engine::AsPaths paths_;
  std::map<uint32_t, LeavesOfNode> nodes_;
  std::set<uint32_t> own_leaves_;
  std::map<uint32_t, std::optional<tenancy::Plane>> planes_;  // by the rail's index
};

// The way to an address behind `as_path`, for a packet that leaves on `rail`: "leaf0 (AS 4200010001), 1 spine (AS 4200020001), the leaf
// AS 4200010003, the node AS 4200000003: across-spine". "": not known.
std::string FabricPathText(const engine::NodeView& view, const engine::RailView& rail, uint32_t as_path,
                           std::optional<uint32_t> remote_rail);
// "leaf0 (AS 4200010001)"
std::string LeafText(const frr::Leaf& leaf);
// The same of the leaf with this AS: "the leaf AS 4200010001" where this node has not heard it.
std::string LeafText(const engine::NodeView& view, uint32_t as);
// " port swp3"; "": LLDP does not say into which port of the leaf the uplink is plugged.
std::string PortText(const engine::RailView& rail);

}  // namespace rail::inspect
