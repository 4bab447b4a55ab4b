// Rails without a way to their leaves.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "lib/base/text.h"
#include "lib/fabric/cause.h"
#include "lib/fabric/text.h"

namespace rail::fabric {
namespace {

// As many single rails are a line each.
constexpr size_t kMostAlone = 16;
// Of a leaf, what is no accident.
constexpr size_t kFewestOfLeaf = 3;

const Kind* LinkKind(const Cell& cell) {
  const auto at = std::ranges::find(cell.shows, Kind::Of::kLink, &Kind::of);
  return at == cell.shows.end() ? nullptr : *at;
}

// "no carrier", "no session"
std::string Lacks(const std::vector<const Cell*>& cells) {
  const auto carrier = std::ranges::count_if(
      cells, [](const Cell* cell) { return LinkKind(*cell)->id == "rail-without-carrier"; });
  if (carrier == 0) return "no session";
  return static_cast<size_t>(carrier) == cells.size() ? "no carrier" : "no carrier or no session";
}

Cause Made(const Look& look, std::string_view id, std::string subject,
           const std::vector<const Cell*>& cells) {
  Cause cause{.kind = &KindOf(id), .subject = std::move(subject), .since_ms = SinceOf(cells)};
  for (const Cell* cell : cells) {
    if (cells.size() > 1) ++cause.follows[LinkKind(*cell)->id];
    if (cell->pods.all > 0) cause.follows["attachments"] += cell->pods.all;
  }
  cause.nodes = NodesOf(cells);
  cause.rails = RailsOf(cells);
  cause.what = Lacks(cells) + SinceText(cause.since_ms, look.now_ms);  // the callers put the rest around it
  return cause;
}

Cause OfLeaf(const Look& look, const std::vector<const Cell*>& cells, size_t all) {
  const std::string leaf = LeafName(*cells.front());
  const bool is_whole = cells.size() == all;
  Cause cause = Made(look, is_whole ? "leaf-down" : "leaf-partly-down", leaf, cells);
  const std::string on = cells.front()->leaf.empty() ? "" : " of " + Join(cause.rails, ", ");
  cause.what = fmt::format(
      "{}{}: {} of {} nodes have {}; {}", leaf, on, cells.size(), all, cause.what,
      is_whole ? "look at " + leaf + " first" : "its other nodes have one: compare the leaf's ports");
  return cause;
}

Cause OfOne(const Look& look, const Cell& cell) {
  const bool has_carrier = LinkKind(cell)->id != "rail-without-carrier";
  Cause cause = Made(look, has_carrier ? "session-down" : "cable-down", cell.Name(), {&cell});
  const std::string port =
      cell.rail->lldp().port().empty() ? "" : "port " + cell.rail->lldp().port() + " of ";
  const std::string said = has_carrier ? SentenceOf(*cell.rail, *LinkKind(cell)) : "";
  cause.what =
      fmt::format("{}: {}, and others of {} have one; look at {}", cell.Name(), cause.what, LeafName(cell),
                  has_carrier ? "both ends of this session: " + said
                              : fmt::format("this cable, {}{}, and the NIC", port, LeafName(cell)));
  return cause;
}

Cause OfMany(const Look& look, Scope scope, const std::string& name, const std::vector<const Cell*>& cells) {
  switch (scope) {
    case Scope::kNode: {
      Cause cause = Made(look, "node-links-down", name, cells);
      cause.what = fmt::format("{}: all of its rails have {}; look at {} first, not at cables", name,
                               cause.what, name);
      return cause;
    }
    case Scope::kRail: {
      Cause cause = Made(look, "rail-down", name, cells);
      cause.what = fmt::format("{}: all {} nodes have {}; look at what its leaves share", name,
                               cause.nodes.size(), cause.what);
      return cause;
    }
    case Scope::kUnit: {
      Cause cause = Made(look, "unit-down", name, cells);
      cause.what = fmt::format("{}: all rails of its {} nodes have {}; look at the unit first", name,
                               cause.nodes.size(), cause.what);
      return cause;
    }
    default: break;
  }
  Cause cause = Made(look, "fleet-down", "fleet", cells);
  cause.what =
      fmt::format("all {} rails of all {} nodes have {}", cells.size(), cause.nodes.size(), cause.what);
  return cause;
}

}  // namespace

void JudgeLinks(const Look& look, std::vector<Cause>& found, Taken& taken) {
  std::vector<size_t> red;
  for (size_t i = 0; i < look.cells.size(); ++i) {
    if (LinkKind(*look.cells[i]) != nullptr) red.push_back(i);
  }
  const auto add = [&](Cause cause, const std::vector<size_t>& items) {
    for (const size_t item : items) taken[item] = static_cast<int>(found.size());
    found.push_back(std::move(cause));
  };
  std::map<std::string, std::vector<size_t>> of_leaf;  // what is alone
  for (const Explained& each :
       look.of_cells.Explain(red, {Scope::kLeaf, Scope::kNode, Scope::kRail, Scope::kUnit, Scope::kFleet})) {
    const auto cells = At(look, each.items);
    if (each.scope == Scope::kAlone) {
      of_leaf[LeafScope(*cells.front())].push_back(each.items.front());
    } else if (each.scope == Scope::kLeaf) {
      add(OfLeaf(look, cells, cells.size()), each.items);
    } else {
      add(OfMany(look, each.scope, each.name, cells), each.items);
    }
  }
  std::vector<size_t> alone;
  for (const auto& [leaf, items] : of_leaf) {
    const size_t all = look.of_cells.SizeOf(items.front(), Scope::kLeaf);
    if (!leaf.empty() && items.size() >= kFewestOfLeaf && items.size() * 2 >= all && items.size() < all) {
      add(OfLeaf(look, At(look, items), all), items);
    } else {
      alone.insert(alone.end(), items.begin(), items.end());
    }
  }
  std::ranges::sort(alone);
  if (alone.size() > kMostAlone) {
    Cause cause = Made(look, "links-down", "several rails", At(look, alone));
    cause.what =
        fmt::format("{} rails of {} nodes have {}, and share no leaf, node or unit of their own ({})",
                    alone.size(), cause.nodes.size(), cause.what, ListOf(cause.nodes));
    add(std::move(cause), alone);
    return;
  }
  for (const size_t item : alone) add(OfOne(look, *look.cells[item]), {item});
}

}  // namespace rail::fabric
