// Which interfaces of a job cannot reach each other, and why.
//
// Use:      AddPairs(interfaces, learned, response);
// Threads:  pure functions
// Cost:     O(pairs on a rail)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/fabric/fleet.h"
#include "lib/fabric/job.h"

namespace rail::fabric {

struct JobInterface {
  Placed placed;
  uint32_t rail = 0;  // its index
  std::string leaf{};
  std::string unit{};
  std::string problem{};  // what keeps it from its peers by itself
};

// Sets pairs, pairs_total, and the pairs of totals.
void AddPairs(const std::vector<JobInterface>& all, const Learned& learned, v1::GetJobResponse& response);

}  // namespace rail::fabric
