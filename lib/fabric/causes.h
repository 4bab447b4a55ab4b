// What is wrong with the fleet: the fewest causes that explain all that is red and contradict nothing that is green.
//
// Use:      Causes causes;                                  // kept: it knows since when each is seen
//           causes.Update(fleet, grid, UnixMs());           // once a batch of changes, and at NextLookMs()
//           Diagnose(causes, fleet, grid, request);
// Threads:  one at a time
// Owns:     since when each cause is seen
// Cost:     Update: O(rails + attachments); README.md
// Source:   README.md of this folder ("Causes")
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/fabric/cause.h"
#include "lib/fabric/fleet.h"
#include "lib/fabric/grid.h"

namespace rail::fabric {

class Causes {
 public:
  // Whether the list has changed.
  bool Update(const Fleet& fleet, const Grid& grid, int64_t now_ms);
  // The worst first, then those that concern more nodes, then by id and subject.
  const std::vector<Cause>& list() const { return list_; }
  // When something that is seen now, and may pass by itself, is to be looked at again. Nothing: a change decides.
  std::optional<int64_t> NextLookMs() const { return next_look_ms_; }

 private:
  using Key = std::pair<std::string, std::string>;  // id, subject

  std::vector<Cause> list_;
  std::map<Key, int64_t> seen_;  // since when
  std::optional<int64_t> next_look_ms_;
};

v1::DiagnoseFleetResponse Diagnose(const Causes& causes, const Fleet& fleet, const Grid& grid,
                                   const v1::DiagnoseFleetRequest& request);

}  // namespace rail::fabric
