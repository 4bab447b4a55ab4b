// `railctl get topology`: scalable units, their leaves and nodes; as text, for Graphviz, or as JSON.
#include <fmt/core.h>

#include <set>

#include "cmd/railctl/commands.h"

namespace rail::railctl {
namespace {

std::string RailText(const v1::UnitLeaf& leaf) {
  return leaf.rail().empty() ? fmt::format("rail {}", leaf.rail_index()) : leaf.rail();
}

// "0", or "3/1" where the rail has planes.
std::string RailNumber(const v1::NodeLeaf& leaf) {
  return leaf.has_plane() ? fmt::format("{}/{}", leaf.rail_number(), leaf.plane())
                          : std::to_string(leaf.rail_index());
}

// ", rail 3 plane 1, port swp3"
std::string More(const v1::UnitLeaf& leaf) {
  return (leaf.has_plane() ? fmt::format(", rail {} plane {}", leaf.rail_number(), leaf.plane()) : "") +
         (leaf.has_lldp() ? ", port " + OneLine(leaf.lldp().port()) : "");
}

// "leaf0 (AS 4200010001, 10.255.1.1)", "AS 4200010003" of a leaf that this node has not heard itself.
std::string LeafText(const v1::Leaf& leaf) {
  std::string as = fmt::format("AS {}", leaf.asn());
  if (leaf.router_id().empty()) return as;
  const std::string silent = leaf.heard() ? "" : ", silent now";
  if (leaf.name().empty()) return fmt::format("{} ({}{})", as, leaf.router_id(), silent);
  return fmt::format("{} ({}, {}{})", OneLine(leaf.name()), as, leaf.router_id(), silent);
}

std::string NodeText(const v1::GetTopologyResponse& topology, const v1::UnitNode& node) {
  return node.self() ? fmt::format("{} (AS {}, this node)", OneLine(topology.hostname()), node.asn())
                     : fmt::format("AS {}", node.asn());
}

void PrintText(const v1::GetTopologyResponse& topology, std::ostream& out) {
  if (topology.unit().empty())
    out << "This node's unit has no name yet: no leaf of some rail has been heard.\n";
  for (int i = 0; i < topology.units_size(); ++i) {
    const v1::Unit& unit = topology.units(i);
    if (i > 0) out << '\n';
    const bool own = std::ranges::any_of(unit.nodes(), &v1::UnitNode::self);
    out << (own ? fmt::format("unit {} (this node's)\n", unit.name().empty() ? "?" : OneLine(unit.name()))
                : std::string("another unit\n"));
    for (const v1::UnitLeaf& leaf : unit.leaves())
      out << fmt::format("  {:<8} {}{}\n", RailText(leaf), LeafText(leaf.leaf()), More(leaf));
    for (const v1::UnitNode& node : unit.nodes()) {
      std::string leaves;
      for (const v1::NodeLeaf& leaf : node.leaves())
        leaves += fmt::format("{}{}:AS {}", leaves.empty() ? "" : ", ", RailNumber(leaf), leaf.asn());
      const std::string distance = WordOf(node.distance());
      out << fmt::format("  node     {}  [{}]{}\n", NodeText(topology, node), leaves,
                         distance.empty() ? "" : "  " + distance);
    }
  }
}

// A name for people becomes a string of Graphviz's language.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

void PrintDot(const v1::GetTopologyResponse& topology, std::ostream& out) {
  out << "graph topology {\n  rankdir=BT;\n";
  std::set<uint32_t> drawn;
  for (int i = 0; i < topology.units_size(); ++i) {
    const v1::Unit& unit = topology.units(i);
    out << fmt::format("  subgraph cluster_{} {{\n    label={};\n", i,
                       Quoted(unit.name().empty() ? "another unit" : unit.name()));
    for (const v1::UnitLeaf& leaf : unit.leaves()) {
      if (drawn.insert(leaf.leaf().asn()).second)
        out << fmt::format("    leaf_{} [shape=box, label={}];\n", leaf.leaf().asn(),
                           Quoted(LeafText(leaf.leaf())));
    }
    for (const v1::UnitNode& node : unit.nodes())
      out << fmt::format("    node_{} [label={}];\n", node.asn(), Quoted(NodeText(topology, node)));
    out << "  }\n";
  }
  for (const v1::Unit& unit : topology.units()) {
    for (const v1::UnitNode& node : unit.nodes()) {
      for (const v1::NodeLeaf& leaf : node.leaves())
        out << fmt::format("  node_{} -- leaf_{} [label=\"{}\"];\n", node.asn(), leaf.asn(),
                           RailNumber(leaf));
    }
  }
  out << "}\n";
}

}  // namespace

ExitCode GetTopology(const Context& context) {
  RAIL_ASSIGN(v1::GetTopologyResponse topology, context.client.Ask(&v1::Node::Stub::GetTopology));
  if (AsJson(context)) return PrintJson(context, topology);
  context.flags.format == Format::kDot ? PrintDot(topology, context.out) : PrintText(topology, context.out);
  return kDone;
}

}  // namespace rail::railctl
