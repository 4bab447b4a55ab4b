#include "cmd/railctl/accept/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "cmd/railctl/accept/casting.h"
#include "cmd/railctl/accept/neighbour.h"
#include "cmd/railctl/accept/partners.h"
#include "cmd/railctl/accept/parts.h"
#include "cmd/railctl/accept/rounds.h"
#include "cmd/railctl/accept/search.h"

namespace rail::accept {

Size SizeOf(const Stage& stage) {
  Size size{.nodes = stage.nodes().size(),
            .pods = stage.agents().size(),
            .rails = stage.Rails().size(),
            .interfaces = stage.ports().size()};
  size.scenes = Opponents(stage).size();
  size.noisy = TrialRounds(stage).size();
  for (const auto& circle : Circles(stage.ports())) size.largest = std::max(size.largest, circle.size());
  size.verbs = std::ranges::any_of(stage.agents(),
                                   [](const auto& agent) { return !agent->has.rdma_devices().empty(); });
  return size;
}

Size SizeOf(size_t nodes, size_t rails) {
  const size_t interfaces = kTenants * nodes * rails;
  return {.nodes = nodes,
          .pods = kTenants * nodes,
          .rails = rails,
          .interfaces = interfaces,
          .scenes = nodes > 1 ? 3 * interfaces : interfaces,  // near; far, there and back
          .largest = nodes,
          .noisy = nodes > 1 ? 2 * kTenants : 0,  // each end of a pair, of each tenant
          .verbs = true};
}

std::vector<Step> PlanOf(const Size& size, bool quick, const Asked& asked) {
  const size_t rounds = quick ? MostRounds(size.largest) : Rounds(size.largest).size();
  const double program = size.verbs ? 7 : 0;  // 5 s of traffic, and its beginning
  return {{"configuration", "nodes asked", size.nodes, 0.7},
          {"isolation", "a pod against one of another tenant", size.scenes, 0.4},
          {"isolation", "connections to speakers of BGP", size.interfaces, 0.2},
          {"qos", "rounds beside a noisy tenant", size.noisy, size.verbs ? 30.0 : 4.0},
          {"qos", "marks sent and read", 2 * size.interfaces, 0.1},
          {"offload", "flows of a pod under load", size.interfaces, 0.5},
          {"offload", "masks of a node under load", size.nodes, 0.5},
          {"speed", "rounds of echo", rounds, 0.5},
          {"speed", "packets of the rail's MTU", size.interfaces, 0.1},
          {"speed", "rounds of ib_write_bw", rounds, program},
          {"speed", "rounds of ib_write_lat", rounds, program},
          {"restart", "seconds for restarts by somebody", asked.restarts, 1},
          {"failure", "seconds for a leaf's port down and up", asked.failure, 1},
          asked.pods > 0 ? Step{"churn", "pods on each node, at once on all", asked.pods, 5}
                         : Step{"churn", "seconds for pods that come and go", asked.churn, 1}};
}

double SecondsOf(const std::vector<Step>& steps) {
  double seconds = 0;
  for (const Step& step : steps) seconds += static_cast<double>(step.times) * step.seconds_each;
  return seconds;
}

void PrintPlan(const Size& size, const std::vector<Step>& steps, std::ostream& out) {
  out << fmt::format("{} on {} with {}; pods and fabric stay as they are\n\n", Times(size.pods, "pod"),
                     Times(size.nodes, "node"), Times(size.rails, "rail"));
  for (const Step& step : steps)
    out << fmt::format("{:<14} {:>6} {:<38} {:>12}\n", step.group, step.times, step.what,
                       Duration(static_cast<double>(step.times) * step.seconds_each));
  out << "\nabout " << Duration(SecondsOf(steps)) << '\n';
}

}  // namespace rail::accept
