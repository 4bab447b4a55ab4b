// Nodes that do not answer: unseen, and accused of nothing else.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "lib/fabric/cause.h"
#include "lib/fabric/text.h"

namespace rail::fabric {
namespace {

// As many that have nothing in common are one line.
constexpr size_t kFewestOfSeveral = 3;

Cause Made(const Look& look, std::string_view id, const std::string& subject,
           std::vector<const Node*> nodes) {
  Cause cause{.kind = &KindOf(id), .subject = subject};
  for (const Node* node : nodes) {
    cause.nodes.push_back(node->name);
    cause.since_ms = std::max(cause.since_ms, node->away_ms);
    if (!node->attachments.empty())
      cause.follows["attachments"] += static_cast<uint32_t>(node->attachments.size());
  }
  const std::string whom =
      nodes.size() == 1 ? nodes.front()->name
      : subject == "several nodes"
          ? fmt::format("{} nodes ({})", nodes.size(), ListOf(cause.nodes))
          : fmt::format("all {} nodes of {}", nodes.size(), subject == "fleet" ? "the fleet" : subject);
  cause.what = whom + (id == "nodes-away" ? ": raild does not answer" + SinceText(cause.since_ms, look.now_ms)
                                          : ": raild has not answered so far");
  if (!nodes.front()->away_why.empty()) cause.what += ": " + nodes.front()->away_why;
  return cause;
}

void Judge(const Look& look, std::string_view id, bool heard, std::vector<Cause>& found) {
  std::map<std::string, size_t> members;
  std::map<std::string, std::vector<const Node*>> gone;  // by unit
  std::vector<const Node*> all;
  for (const auto& [name, node] : look.fleet.nodes()) {
    const std::string& unit = look.grid.UnitOf(name);
    ++members[unit];
    if (node.IsSeen() || node.heard != heard) continue;
    gone[unit].push_back(&node);
    all.push_back(&node);
  }
  if (all.size() > 1 && all.size() == look.fleet.nodes().size()) {
    found.push_back(Made(look, id, "fleet", all));
    return;
  }
  std::vector<const Node*> alone;
  for (const auto& [unit, nodes] : gone) {
    if (!unit.empty() && nodes.size() > 1 && nodes.size() == members.at(unit)) {
      found.push_back(Made(look, id, unit, nodes));
    } else {
      alone.insert(alone.end(), nodes.begin(), nodes.end());
    }
  }
  std::ranges::sort(alone, [](const Node* a, const Node* b) { return IsBefore(a->name, b->name); });
  if (alone.size() >= kFewestOfSeveral) {
    found.push_back(Made(look, id, "several nodes", alone));
    return;
  }
  for (const Node* node : alone) found.push_back(Made(look, id, node->name, {node}));
}

}  // namespace

void JudgeAway(const Look& look, std::vector<Cause>& found) {
  Judge(look, "nodes-away", true, found);
  Judge(look, "nodes-unheard", false, found);
}

}  // namespace rail::fabric
