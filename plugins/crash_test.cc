// A plugin dies at every point between two effects of ADD and of DEL; then one of four things comes, and nothing is left.
//
// A crash is an exception that leaves the verb from inside the record (state/testing/crash_store.h): what the verb held is
// dropped, what it did outside stays as it is. Every write to the record has two points, before it and after it.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plugins/testing/rail_chain.h"

namespace rail {
namespace {

using engine::testing::Answer;
using engine::testing::Chain;
using engine::testing::Crash;
using engine::testing::PodSpec;
using engine::testing::World;
using ::testing::IsEmpty;

constexpr const char* kPlugins[] = {"ovs-provider", "tenant-isolation", "frr-provider"};

enum class Recovery { kDel, kAddAgain, kDelThenAdd, kSweep };
constexpr const char* kRecoveries[] = {"DEL", "ADD again", "DEL, ADD", "sweep"};

struct Case {
  Recovery recovery;
  bool adopts = false;  // ovs-cni has plumbed the device: the chain adopts its port and its addresses
  bool vrf = false;     // tenants have VLANs
};

void PrintTo(const Case& at, std::ostream* out) {
  *out << kRecoveries[static_cast<int>(at.recovery)] << (at.adopts ? ", after ovs-cni" : "")
       << (at.vrf ? ", mode vrf" : "");
}

const ovs::ExternalIds kTheirs = {{"owner", "ovs-cni.network.kubevirt.io"}, {"contIface", "net1"}};

// A node with a chain and a pod before anything of ours has run.
struct Node {
  explicit Node(const Case& at) {
    if (at.vrf) testing::GiveVlans(world);
    if (at.adopts) {
      EXPECT_TRUE(world.ovsdb.AddPort(
          {.bridge = "br-rail0", .name = "rep0", .external_ids = kTheirs, .mtu = 0, .ofport_request = {}},
          {}));
      world.pods.AddLink(pod.identity, "net1");
      chain.previous =
          nlohmann::json{{"cniVersion", "1.0.0"},
                         {"interfaces",
                          {{{"name", "rep0"}, {"mac", "02:00:00:00:00:10"}},
                           {{"name", "net1"}, {"mac", "02:de:f1:00:00:01"}, {"sandbox", pod.netns}}}},
                         {"ips", {{{"address", "10.0.3.8/24"}, {"gateway", "10.0.3.1"}, {"interface", 1}}}}}
              .dump();
    }
    before = world.Leftovers();
  }
  void ExpectAsBefore() {
    // What is configured on ovs-cni's interface goes with the interface.
    std::vector<std::string> left = world.Leftovers();
    if (!chain.previous.empty()) std::erase(left, "pod: net1 is configured");
    EXPECT_EQ(left, before);
    if (!chain.previous.empty()) {
      EXPECT_EQ((*world.ovsdb.FindPort("rep0", {}))->external_ids, kTheirs);
    }
  }

  World world;
  Chain chain = testing::RailChain(world);
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  std::vector<std::string> before;
};

class CrashTest : public ::testing::TestWithParam<Case> {
 protected:
  // Whatever happened to the first attempt, this ends it; then nothing may be left.
  static void Recover(Node& node) {
    auto& [world, chain, pod, before] = node;
    const Recovery recovery = GetParam().recovery;
    switch (recovery) {
      case Recovery::kDel: break;
      case Recovery::kAddAgain:
      case Recovery::kDelThenAdd: {
        if (recovery == Recovery::kDelThenAdd) {
          const Answer deleted = chain.Del(pod);
          EXPECT_TRUE(deleted) << deleted.text;
          node.ExpectAsBefore();
        }
        const Answer added = chain.Add(pod);
        // If the ADD had come as far as kReady before the chain died, the next ADD is answered
        // with "exists": DEL must come first then.
        if (added || recovery == Recovery::kDelThenAdd) {
          ASSERT_TRUE(added) << added.text;
          const Answer checked = chain.Check(pod);
          EXPECT_TRUE(checked) << checked.text;
        } else {
          EXPECT_EQ(added.code, 102U) << added.text;
        }
        break;
      }
      case Recovery::kSweep:
        world.MakePod("another", "ns-a", "vf1");  // the folder of namespaces can be seen
        world.EndNamespace(pod);
        world.StartRaild()->Audit();
        node.ExpectAsBefore();
        return;
    }
    const Answer deleted = chain.Del(pod);
    EXPECT_TRUE(deleted) << deleted.text;
    node.ExpectAsBefore();
  }
};

// The ADD of each plugin in its place in the chain, killed at each of its points.
TEST_P(CrashTest, LeavesNothingWhereverAddDies) {
  for (size_t plugin = 0; plugin < std::size(kPlugins); ++plugin) {
    int at = 1;
    for (;; ++at) {
      SCOPED_TRACE(fmt::format("{} dies at point {}", kPlugins[plugin], at));
      Node node(GetParam());
      auto& [world, chain, pod, before_all] = node;
      std::string previous = chain.previous;
      for (size_t before = 0; before < plugin; ++before) {
        const Answer answer = chain.Run(before, "ADD", pod, previous);
        ASSERT_TRUE(answer) << answer.text;
        previous = answer.result;
      }
      world.CrashAt(at);
      bool crashed = false;
      try {
        (void)chain.Run(plugin, "ADD", pod, previous);
      } catch (const Crash&) {
        crashed = true;
      }
      world.NoCrash();
      if (!crashed) break;
      Recover(node);
    }
    std::printf("[          ] ADD of %-16s %2d points, each then %-9s %s\n", kPlugins[plugin], at - 1,
                kRecoveries[static_cast<int>(GetParam().recovery)], HasFailure() ? "FAILED" : "nothing left");
    EXPECT_GT(at, 3) << "ADD writes to the record";
  }
}

TEST_P(CrashTest, LeavesNothingWhereverDelDies) {
  for (size_t plugin = std::size(kPlugins); plugin-- > 0;) {
    int at = 1;
    for (;; ++at) {
      SCOPED_TRACE(fmt::format("{} dies at point {}", kPlugins[plugin], at));
      Node node(GetParam());
      auto& [world, chain, pod, before_all] = node;
      const Answer added = chain.Add(pod);
      ASSERT_TRUE(added) << added.text;
      for (size_t before = std::size(kPlugins); before-- > plugin + 1;) {
        ASSERT_TRUE(chain.Run(before, "DEL", pod, added.result));
      }
      world.CrashAt(at);
      bool crashed = false;
      try {
        (void)chain.Run(plugin, "DEL", pod, added.result);
      } catch (const Crash&) {
        crashed = true;
      }
      world.NoCrash();
      if (!crashed) break;
      Recover(node);
    }
    std::printf("[          ] DEL of %-16s %2d points, each then %-9s %s\n", kPlugins[plugin], at - 1,
                kRecoveries[static_cast<int>(GetParam().recovery)], HasFailure() ? "FAILED" : "nothing left");
    EXPECT_GT(at, 3) << "DEL writes to the record";
  }
}

// Another pod takes device and address between the crash of a DEL and its repetition.
TEST(CrashThenReuse, TheRepeatedDelTouchesNothingOfTheNewOwner) {
  for (int at = 1;; ++at) {
    SCOPED_TRACE(fmt::format("DEL dies at point {}", at));
    World world;
    Chain chain = testing::RailChain(world);
    const PodSpec old = world.MakePod("p1", "ns-a", "vf0");
    const PodSpec fresh = world.MakePod("p2", "ns-a", "vf0");
    const Answer added = chain.Add(old);
    ASSERT_TRUE(added) << added.text;
    world.CrashAt(at);
    bool crashed = false;
    try {
      (void)chain.Del(old);
    } catch (const Crash&) {
      crashed = true;
    }
    world.NoCrash();
    if (!crashed) break;
    const Answer reused = chain.Add(fresh);
    if (!reused) {
      EXPECT_EQ(reused.code, 11U) << reused.text;
      EXPECT_TRUE(chain.Del(fresh));
    }
    EXPECT_TRUE(chain.Del(old));
    if (reused) {
      const Answer checked = chain.Check(fresh);
      EXPECT_TRUE(checked) << checked.text;
      EXPECT_EQ(world.devices.Where("vf0"), fresh.identity);
      EXPECT_TRUE(chain.Del(fresh));
    }
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

std::string TestName(const ::testing::TestParamInfo<Case>& info) {
  constexpr const char* kNames[] = {"Del", "AddAgain", "DelThenAdd", "Sweep"};
  return std::string(kNames[static_cast<int>(info.param.recovery)]) +
         (info.param.adopts ? "AfterOvsCni" : "") + (info.param.vrf ? "WithVlans" : "");
}

INSTANTIATE_TEST_SUITE_P(
    , CrashTest,
    ::testing::Values(Case{Recovery::kDel}, Case{Recovery::kAddAgain}, Case{Recovery::kDelThenAdd},
                      Case{Recovery::kSweep}, Case{Recovery::kDel, true}, Case{Recovery::kAddAgain, true},
                      Case{Recovery::kDelThenAdd, true}, Case{Recovery::kSweep, true},
                      Case{Recovery::kDel, false, true}, Case{Recovery::kAddAgain, false, true},
                      Case{Recovery::kDelThenAdd, false, true}, Case{Recovery::kSweep, false, true},
                      Case{Recovery::kDel, true, true}),
    TestName);

}  // namespace
}  // namespace rail
