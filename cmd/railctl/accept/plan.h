// What a run does and how long it takes, before it begins.
//
// Use:      const Size size = SizeOf(stage);   PrintPlan(size, PlanOf(size, quick), std::cout);
// Threads:  pure functions
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "cmd/railctl/accept/stage.h"

namespace rail::accept {

// How much there is of everything.
struct Size {
  size_t nodes = 0;
  size_t pods = 0;
  size_t rails = 0;
  size_t interfaces = 0;  // of all pods
  size_t scenes = 0;      // an interface against a pod of another tenant
  size_t largest = 0;     // interfaces of one tenant on one rail
  size_t noisy = 0;       // rounds in which pods are beside a noisy tenant
  bool verbs = false;     // pods have RDMA devices
};
Size SizeOf(const Stage& stage);
// Of a run with a pod of each of two tenants on each node, with RDMA.
Size SizeOf(size_t nodes, size_t rails);

// What is done one after the other. What runs at the same time, as all rails and all pairs of a round, is one step.
struct Step {
  std::string group;
  std::string what;
  size_t times = 0;
  double seconds_each = 0;
};
// What somebody does meanwhile, in seconds; how often a pod of the run comes and goes on each node.
struct Asked {
  uint32_t restarts = 0;
  uint32_t failure = 0;
  uint32_t churn = 0;
  uint32_t pods = 0;
};
std::vector<Step> PlanOf(const Size& size, bool quick, const Asked& asked = {});
double SecondsOf(const std::vector<Step>& steps);

void PrintPlan(const Size& size, const std::vector<Step>& steps, std::ostream& out);

}  // namespace rail::accept
