// What is wrong with the fleet: the fewest causes that explain all that is red and contradict nothing that is green.
//
// Use:      Causes causes;                                  // kept: it knows since when each stands
//           causes.Update(fleet, grid, UnixMs());           // once a batch of changes, and at NextLook()
//           Diagnose(causes, fleet, grid, request);
// Threads:  one at a time
// Owns:     since when each cause is seen
// Cost:     Update: < 200 ms for 2,000 nodes x 8 rails x 8 pods
// Source:   README.md of this folder ("Causes")
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/fabric/fleet.h"
#include "lib/fabric/grid.h"
#include "lib/fabric/kinds.h"

namespace rail::fabric {

struct Cause {
  const Kind* kind = nullptr;
  std::string subject;
  int64_t since_ms = 0;  // 0: not known
  std::string what;
  std::map<std::string, uint32_t> follows;  // ids of what cells show, and "attachments": counts
  std::vector<std::string> nodes;           // all, in order
  std::vector<std::string> rails;
};

class Causes {
 public:
  // Whether the list has changed.
  bool Update(const Fleet& fleet, const Grid& grid, int64_t now_ms);
  // The worst first, then those with more nodes, then by id and subject.
  const std::vector<Cause>& list() const { return list_; }
  // When something that is seen now, and may pass by itself (news on their way), is to be looked at again; nothing: it needs a change.
  std::optional<int64_t> NextLookMs() const { return next_look_ms_; }

 private:
  std::vector<Cause> list_;
  std::map<std::string, int64_t> seen_;  // by id and subject: since when
  std::optional<int64_t> next_look_ms_;
};

v1::DiagnoseFleetResponse Diagnose(const Causes& causes, const Fleet& fleet, const Grid& grid,
                                   const v1::DiagnoseFleetRequest& request);

}  // namespace rail::fabric
