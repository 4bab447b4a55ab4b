// The fabric as messages of rail.v1.
#include "cmd/raild/api/messages.h"
#include "lib/base/utf8.h"

namespace rail::raild {

void SetLeaf(v1::Leaf& message, const engine::KnownLeaf& leaf) {
  message.set_asn(leaf.leaf.asn);
  message.set_router_id(leaf.leaf.router_id.ToString());
  message.set_name(ValidUtf8(leaf.leaf.name));
  message.set_heard(leaf.heard);
}

v1::GetTopologyResponse GetTopology(const engine::NodeView& view) {
  const inspect::Fabric fabric(view);
  v1::GetTopologyResponse response;
  response.set_hostname(ValidUtf8(view.hostname));
  response.set_asn(view.asn);
  response.set_unit(view.unit);
  for (const inspect::UnitSeen& seen : fabric.units()) {
    v1::Unit& unit = *response.add_units();
    if (seen.own) unit.set_name(view.unit);
    for (const auto& [index, asn] : seen.leaves) {
      v1::UnitLeaf& leaf = *unit.add_leaves();
      leaf.set_rail_index(index);
      SetPlane(leaf, fabric.PlaneOf(index));
      leaf.mutable_leaf()->set_asn(asn);
      for (const engine::RailView& rail : view.rails) {
        if (rail.rail.index == index) leaf.set_rail(rail.rail.name);
        if (!rail.leaf || rail.leaf->leaf.asn != asn) continue;
        SetLeaf(*leaf.mutable_leaf(), *rail.leaf);
        if (rail.rail.index == index && rail.seen.has_lldp()) *leaf.mutable_lldp() = rail.seen.lldp();
      }
    }
    for (const uint32_t asn : seen.nodes) {
      v1::UnitNode& node = *unit.add_nodes();
      node.set_asn(asn);
      node.set_self(asn == fabric.own());
      node.set_distance(fabric.DistanceOfNode(asn));
      for (const auto& [index, leaves] : fabric.nodes().at(asn)) {
        for (const uint32_t leaf : leaves) {
          v1::NodeLeaf& one = *node.add_leaves();
          one.set_rail_index(index);
          SetPlane(one, fabric.PlaneOf(index));
          one.set_asn(leaf);
        }
      }
    }
  }
  return response;
}

}  // namespace rail::raild
