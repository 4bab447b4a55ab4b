// What rails and nodes show beside links, by what has it in common: a rollout shows one thing everywhere.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

#include "lib/fabric/cause.h"
#include "lib/fabric/symptoms.h"
#include "lib/fabric/text.h"

namespace rail::fabric {
namespace {

// As many nodes that have nothing else in common are one line.
constexpr size_t kFewestOfSeveral = 3;

// What one kind is shown by.
struct Group {
  Scope scope = Scope::kAlone;
  std::string name;
  std::vector<std::string> nodes;
  size_t things = 0;     // rails or nodes that show it
  std::string sentence;  // of the first
};

std::string SubjectOf(const Group& group, const std::string& alone) {
  if (group.scope == Scope::kFleet) return "fleet";
  if (group.scope == Scope::kAlone) return group.nodes.size() > 1 ? "several nodes" : alone;
  return group.name;
}

// Whom it concerns, "all 16 nodes with raild 0.2.0, and no other".
std::string Whom(const Look& look, const Group& group, const std::string& alone) {
  const std::string nodes = Some(group.nodes.size(), "node", "nodes");
  switch (group.scope) {
    case Scope::kFleet: return "all " + nodes + " (a rollout, or one setting of all)";
    case Scope::kVersion: return "all " + nodes + " with " + group.name + ", and no other (a rollout)";
    case Scope::kUnit: return "all " + nodes + " of " + group.name + ", and no other unit";
    case Scope::kRail: return "all " + nodes + " on " + group.name + ", and no other rail";
    case Scope::kLeaf: return "all " + nodes + " behind " + group.name;
    case Scope::kNode: return group.name + ", on all of its rails";
    case Scope::kAlone: break;
  }
  if (group.nodes.size() == 1) return alone;
  const bool is_most = group.nodes.size() * 2 >= look.nodes.size();
  return fmt::format("{} of {} nodes{} ({})", group.nodes.size(), look.nodes.size(),
                     is_most ? ", as a rollout that has not reached all" : "", ListOf(group.nodes));
}

Cause Made(const Look& look, const Kind& kind, const Group& group, const std::string& alone,
           const std::string& of) {
  Cause cause{.kind = &kind, .subject = SubjectOf(group, alone), .nodes = group.nodes};
  if (!of.empty() && cause.subject != alone) cause.subject += ": " + of;
  cause.what = Whom(look, group, alone) + ": " + group.sentence;
  if (group.things > 1) cause.follows[kind.id] = static_cast<uint32_t>(group.things);
  return cause;
}

// Those alone, as one where there are many.
std::vector<Explained> Folded(std::vector<Explained> all, const std::function<const Node*(size_t)>& node_of) {
  std::set<const Node*> nodes;
  Explained several;
  for (const Explained& each : all) {
    if (each.scope != Scope::kAlone) continue;
    nodes.insert(node_of(each.items.front()));
    several.items.push_back(each.items.front());
  }
  if (nodes.size() < kFewestOfSeveral) return all;
  std::erase_if(all, [](const Explained& each) { return each.scope == Scope::kAlone; });
  all.push_back(std::move(several));
  return all;
}

class OfRails {
 public:
  OfRails(const Look& look, std::vector<Cause>& found, Taken& taken)
      : look_(look), found_(found), taken_(taken) {}

  void Judge(const Kind& kind, const std::vector<size_t>& shown) {
    std::vector<size_t> red;
    for (const size_t item : shown) {
      if (kind.of == Kind::Of::kEffect && taken_[item] >= 0) {
        ++found_[static_cast<size_t>(taken_[item])].follows[kind.id];
      } else {
        red.push_back(item);
      }
    }
    const bool by_leaf = kind.id == "leaf-strips-communities";
    const auto explained =
        by_leaf ? look_.of_cells.Explain(red, {Scope::kLeaf, Scope::kRail, Scope::kUnit, Scope::kFleet})
                : look_.of_cells.Explain(
                      red, {Scope::kNode, Scope::kRail, Scope::kUnit, Scope::kVersion, Scope::kFleet});
    for (const Explained& each : Folded(explained, [this](size_t item) { return look_.cells[item]->node; }))
      Add(kind, each);
  }

 private:
  void Add(const Kind& kind, const Explained& each) {
    const auto cells = At(look_, each.items);
    const Cell& first = *cells.front();
    const Group group{each.scope, each.name, NodesOf(cells), cells.size(), SentenceOf(*first.rail, kind)};
    Cause cause = Made(look_, kind, group, first.Name(), "");
    cause.rails = RailsOf(cells);
    const bool explains = kind.severity == v1::Finding::CRITICAL || kind.id == "rail-unseen";
    for (const size_t item : each.items) {
      if (explains && taken_[item] < 0) taken_[item] = static_cast<int>(found_.size());
      const uint32_t pods = look_.cells[item]->pods.all;
      if (kind.severity == v1::Finding::CRITICAL && pods > 0) cause.follows["attachments"] += pods;
    }
    found_.push_back(std::move(cause));
  }

  const Look& look_;
  std::vector<Cause>& found_;
  Taken& taken_;
};

// What follows from a rail that has something, though it is a part of the whole node.
bool FollowsFromRails(const std::string& part) {
  constexpr std::array kBeginnings = {"bgp", "readiness", "addresses of pods", "devices of pods"};
  return std::ranges::any_of(kBeginnings, [&part](const char* begin) { return part.starts_with(begin); });
}

// "leaf of rail" of "leaf of rail rail0": one name for the same on all rails.
std::string WithoutRail(const v1::HealthPart& part) {
  std::string name = part.part();
  const std::string end = " " + part.rail();
  if (!part.rail().empty() && name.ends_with(end)) name.resize(name.size() - end.size());
  return name;
}

}  // namespace

void JudgeRails(const Look& look, std::vector<Cause>& found, Taken& taken) {
  std::map<const Kind*, std::vector<size_t>> shown;  // in the order of the table
  for (size_t i = 0; i < look.cells.size(); ++i) {
    for (const Kind* kind : look.cells[i]->shows) {
      if (kind->of != Kind::Of::kLink) shown[kind].push_back(i);
    }
  }
  OfRails judge(look, found, taken);
  for (const Kind::Of of : {Kind::Of::kRail, Kind::Of::kEffect}) {
    for (const auto& [kind, cells] : shown) {
      if (kind->of == of) judge.Judge(*kind, cells);
    }
  }
}

void JudgeNodes(const Look& look, std::vector<Cause>& found, const Taken& taken) {
  using Shown = std::pair<const Kind*, std::string>;  // a kind, and of what
  std::map<Shown, std::vector<size_t>> shown;
  std::map<Shown, std::string> sentences;
  std::map<const Node*, std::map<std::string_view, int>> causes;  // of rails that have one
  for (size_t i = 0; i < look.cells.size(); ++i) {
    if (taken[i] >= 0) causes[look.cells[i]->node][look.cells[i]->rail->name()] = taken[i];
  }
  const Kind& failing = KindOf("part-failing");
  for (size_t i = 0; i < look.nodes.size(); ++i) {
    const Node& node = *look.nodes[i];
    const auto kinds = ShownBy(node.state);
    for (const Kind* kind : kinds) {
      shown[{kind, ""}].push_back(i);
      sentences.try_emplace({kind, ""}, kind->why);
    }
    const auto of_rails = causes.find(&node);
    bool has_first = !kinds.empty();  // what else fails then is read on the node
    for (const v1::HealthPart& part : node.state.node().health()) {
      if (part.ok()) continue;
      int cause = -1;
      if (of_rails != causes.end()) {
        const auto at = of_rails->second.find(part.rail());
        if (at != of_rails->second.end()) cause = at->second;
        if (part.rail().empty() && FollowsFromRails(part.part())) cause = of_rails->second.begin()->second;
      }
      if (cause >= 0) {
        ++found[static_cast<size_t>(cause)].follows[failing.id];
        continue;
      }
      if (has_first) continue;
      has_first = true;
      const Shown what{&failing, WithoutRail(part)};
      shown[what].push_back(i);
      sentences.try_emplace(what, part.problem());
    }
  }
  for (const auto& [what, nodes] : shown) {
    const auto& [kind, part] = what;
    const auto explained = look.of_nodes.Explain(nodes, {Scope::kUnit, Scope::kVersion, Scope::kFleet});
    for (const Explained& each : Folded(explained, [&look](size_t item) { return look.nodes[item]; })) {
      Group group{each.scope, each.name, {}, each.items.size(), sentences.at(what)};
      for (const size_t item : each.items) group.nodes.push_back(look.nodes[item]->name);
      const std::string& first = group.nodes.front();
      found.push_back(Made(look, *kind, group, part.empty() ? first : first + ": " + part, part));
    }
  }
}

}  // namespace rail::fabric
