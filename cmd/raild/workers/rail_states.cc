#include "cmd/raild/workers/rail_states.h"

#include <string>

namespace rail::raild {
namespace {

using engine::Part;
using kubernetes::RailState;

std::string ProblemOf(const engine::NodeView& view, const engine::RailView& rail) {
  if (!rail.seen.carrier()) return rail.rail.pf + " has no carrier";
  for (const engine::Health& health : view.health) {
    const bool keeps_it = health.part.part == Part::kRail || health.part.part == Part::kNic;
    if (!health.ok && keeps_it && health.part.rail == rail.rail.name) return health.problem;
  }
  if (!rail.seen.bridge_present()) return "bridge " + rail.rail.bridge + " does not exist";
  if (rail.connected()) return "";
  const std::string& state = rail.seen.bgp_state();
  return "no BGP session with the leaf" + (state.empty() ? "" : " (" + state + ")");
}

}  // namespace

std::vector<RailState> RailStates(const engine::NodeView& view) {
  std::vector<RailState> states;
  for (const engine::RailView& rail : view.rails) states.push_back({rail.rail.name, ProblemOf(view, rail)});
  return states;
}

std::vector<RailState> RailNews::Of(const std::vector<RailState>& rails) {
  std::vector<RailState> news;
  for (const RailState& rail : rails) {
    const bool works = rail.problem.empty();
    if (works_.try_emplace(rail.name, works).first->second != works) news.push_back(rail);
  }
  return news;
}

}  // namespace rail::raild
