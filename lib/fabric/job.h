// One job: its pods, where they are, which of them cannot reach each other and why.
//
// Use:      for (const JobNode& each : NodesOfJob(fleet, request)) ask each.node for ListRemotes of each tenant;
//           RAIL_ASSIGN(auto job, GetJob(fleet, grid, learned, request));
// Threads:  pure functions
// Source:   README.md of this folder ("Jobs")
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/base/error.h"
#include "lib/fabric/fleet.h"
#include "lib/fabric/grid.h"

namespace rail::fabric {

// What is to be asked of a node: ListRemotes of each of these tenants (ids).
struct JobNode {
  std::string node;
  std::set<std::string> tenants;
};

// Nodes of the job that are not away. Empty: there is no such job, or all are.
std::vector<JobNode> NodesOfJob(const Fleet& fleet, const v1::GetJobRequest& request);

// What each node has learned, as ListRemotes has it. Of a node that is not here, nobody has asked.
using Learned = std::map<std::string, std::vector<v1::Remote>>;

// Errors: kInvalid: no namespace or name; kNotFound: no such pod.
Result<v1::GetJobResponse> GetJob(const Fleet& fleet, const Grid& grid, const Learned& learned,
                                  const v1::GetJobRequest& request);

}  // namespace rail::fabric
