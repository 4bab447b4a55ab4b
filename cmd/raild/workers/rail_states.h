// What people and schedulers are told of each rail.
//
// Use:      const std::vector<kubernetes::RailState> rails = RailStates(view);   // by index; problem "" where a rail works
//           for (const auto& rail : news.Of(rails)) if (sent) news.Told(rail);
// Threads:  RailStates: a pure function; RailNews: one
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/engine/view.h"
#include "lib/kubernetes/report.h"

namespace rail::raild {

// The nearest cause alone: a carrier before the bridge, the bridge before its session.
std::vector<kubernetes::RailState> RailStates(const engine::NodeView& view);

class RailNews {
 public:
  // Rails that have gone or come back since they were told. The first time a rail is no news: the node has just started.
  std::vector<kubernetes::RailState> Of(const std::vector<kubernetes::RailState>& rails);
  void Told(const kubernetes::RailState& rail) { works_[rail.name] = rail.problem.empty(); }

 private:
  std::map<std::string, bool> works_;  // as it was told
};

}  // namespace rail::raild
