// raild on a World beside one pod: what the tests of repair and of the sweep begin with.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/engine/testing/attach.h"

namespace rail::engine::testing {

class RepairTest : public ::testing::Test {
 protected:
  static IpAddress Ip(const std::string& text) { return *IpAddress::Parse(text); }
  void Attach(const PodSpec& spec, const std::string& address) {
    const auto attached = testing::Attach(world, spec, address);
    ASSERT_TRUE(attached) << attached.error().message;
  }
  // A node with a pod of ns-a, and raild that has looked once.
  void Settle() {
    pod = world.MakePod("p1", "ns-a", "vf0");
    Attach(pod, "10.0.3.1");
    raild = world.StartRaild(std::chrono::hours(1));
    raild->Audit();
    EXPECT_THAT(Problems(), ::testing::IsEmpty());
  }
  // For so long that nothing is kept for it any more.
  void LearnBesideASessionThatStaysDown() {
    Settle();
    world.bgp.SetSession("br-rail1", "Idle");
    world.LearnRemote("10.0.9.1", "ns-a");
    raild->Poll();
    world.passed += 2 * Remotes::kStale;
    raild->Poll();
  }
  void Audit() { raild->Audit(); }
  std::vector<std::string> Problems() {
    std::vector<std::string> problems;
    for (const Health& health : raild->views.Current()->health) {
      if (!health.ok) problems.push_back(ToText(health.part) + ": " + health.problem);
    }
    return problems;
  }
  uint64_t Repairs() { return raild->views.Current()->repairs; }
  Status Commit(const ovs::Change& change) { return world.Bridge().Commit(change, {}); }
  bool HasPort(const std::string& name) { return world.ovsdb.FindPort(name, {})->has_value(); }

  World world;
  PodSpec pod;
  std::unique_ptr<Raild> raild;
};

}  // namespace rail::engine::testing
