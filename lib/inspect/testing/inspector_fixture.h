// Inspector on a node made of fakes, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "lib/engine/testing/attach.h"
#include "lib/inspect/inspector.h"

namespace rail::inspect {

class InspectorTest : public testing::Test {
 protected:
  InspectorTest() {
    world.vswitchd = [this](const std::string& command,
                            const std::vector<std::string>& arguments) -> Result<std::string> {
      asked.push_back(command);
      if (vswitchd_down) return Fail(Code::kTransient, "ovs-vswitchd is down");
      if (command == "dpctl/dump-flows" && flows_down) return Fail(Code::kTransient, "no answer in time");
      if (command == "dpctl/dump-flows") return megaflows;
      if (command == "upcall/show") return upcalls;
      if (command == "ofproto/trace") {
        packet = arguments.at(1);
        return std::string(
            "bridge(\"br-rail0\")\n---\n 0. priority 0, cookie 0x5241494c01000000\n    drop\n\nFinal flow: "
            "x\n"
            "Megaflow: m\nDatapath actions: drop\n");
      }
      return std::string();
    };
    inspector = std::make_unique<Inspector>(world.config, paths, deps, views(), [] { return int64_t{1}; });
  }

  engine::ViewPublisher& views() { return raild->views; }
  void Look() { raild->Audit(); }
  std::vector<std::string> Problems() {
    const auto checked = inspector->Check({});
    EXPECT_TRUE(checked) << checked.error().message;
    if (!checked || checked->attachments_size() != 1) return {"not one attachment"};
    std::vector<std::string> sentences;
    for (const v1::CheckProblem& problem : checked->attachments(0).details()) {
      EXPECT_NE(problem.fix(), "") << problem.what();
      sentences.push_back(problem.what());
    }
    return sentences;
  }
  const Finding* Found(const std::string& id) {
    said = inspector->Doctor();
    const auto found = std::ranges::find(said, id, &Finding::id);
    return found == said.end() ? nullptr : &*found;
  }
  SwitchSample Sample() { return inspector->Sample(std::chrono::seconds(20), std::chrono::seconds(20)); }
  std::vector<std::string> Findings() {
    std::vector<std::string> ids;
    for (const Finding& finding : inspector->Doctor()) ids.push_back(finding.id);
    return ids;
  }

  engine::testing::World world;
  engine::Deps deps = world.deps();
  config::Paths paths;
  std::unique_ptr<engine::testing::Raild> raild = world.StartRaild();
  bool vswitchd_down = false;
  bool flows_down = false;
  std::string megaflows;
  std::string upcalls = "netdev@ovs-netdev:\n  flows         : (current 6) (avg 5) (max 7) (limit 14000)\n";
  std::string packet;
  std::vector<std::string> asked;
  std::unique_ptr<Inspector> inspector;
  std::vector<Finding> said;  // by the last doctor of Found
};

// With one pod, "ns-a/p1 net1 on rail0", that is as its record says.
class Attached : public InspectorTest {
 protected:
  Attached() {
    pod = world.MakePod("p1", "ns-a", "vf0");
    const auto made = engine::testing::Attach(world, pod, "10.0.3.7");
    EXPECT_TRUE(made) << made.error().message;
    const engine::RailView rail{.rail = world.config.rails[0]};
    const auto inside = netns::Netns::Open(pod.netns);
    EXPECT_TRUE(world.pods.Configure(*inside, engine::PlanOf(rail.rail, *made)));
    Look();
  }
  engine::testing::PodSpec pod;
};

}  // namespace rail::inspect
