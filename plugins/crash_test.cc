// A plugin dies at every point between two effects of ADD and of DEL; then one of three things comes, and nothing is left.
//
// A crash is an exception that leaves the verb from inside the record (state/testing/crash_store.h): what the verb held is
// dropped, what it did outside stays as it is. Every write to the record has two points, before it and after it.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

void PrintTo(Recovery recovery, std::ostream* out) {
  *out << kRecoveries[static_cast<int>(recovery)];
}

class CrashTest : public ::testing::TestWithParam<Recovery> {
 protected:
  // Whatever happened to the first attempt, this ends it; then nothing may be left.
  static void Recover(World& world, Chain& chain, const PodSpec& pod) {
    switch (GetParam()) {
      case Recovery::kDel:
        break;
      case Recovery::kAddAgain:
      case Recovery::kDelThenAdd: {
        if (GetParam() == Recovery::kDelThenAdd) {
          const Answer deleted = chain.Del(pod);
          EXPECT_TRUE(deleted) << deleted.text;
          EXPECT_THAT(world.Leftovers(), IsEmpty());
        }
        const Answer added = chain.Add(pod);
        // An ADD that had come as far as kReady before the chain died is answered with "exists": DEL comes first then.
        if (added || GetParam() == Recovery::kDelThenAdd) {
          ASSERT_TRUE(added) << added.text;
          const Answer checked = chain.Check(pod);
          EXPECT_TRUE(checked) << checked.text;
        } else {
          EXPECT_EQ(added.code, 102U) << added.text;
        }
        break;
      }
      case Recovery::kSweep:
        world.EndNamespace(pod);
        world.StartRaild()->Audit();
        EXPECT_THAT(world.Leftovers(), IsEmpty());
        return;
    }
    const Answer deleted = chain.Del(pod);
    EXPECT_TRUE(deleted) << deleted.text;
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
};

// The ADD of each plugin in its place in the chain, killed at each of its points.
TEST_P(CrashTest, LeavesNothingWhereverAddDies) {
  for (size_t plugin = 0; plugin < std::size(kPlugins); ++plugin) {
    int at = 1;
    for (;; ++at) {
      SCOPED_TRACE(fmt::format("{} dies at point {}", kPlugins[plugin], at));
      World world;
      Chain chain = testing::RailChain(world);
      const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
      std::string previous;
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
      Recover(world, chain, pod);
    }
    std::printf("[          ] ADD of %-16s %2d points, each then %-9s %s\n", kPlugins[plugin], at - 1,
                kRecoveries[static_cast<int>(GetParam())], HasFailure() ? "FAILED" : "nothing left");
    EXPECT_GT(at, 3) << "ADD writes to the record";
  }
}

TEST_P(CrashTest, LeavesNothingWhereverDelDies) {
  for (size_t plugin = std::size(kPlugins); plugin-- > 0;) {
    int at = 1;
    for (;; ++at) {
      SCOPED_TRACE(fmt::format("{} dies at point {}", kPlugins[plugin], at));
      World world;
      Chain chain = testing::RailChain(world);
      const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
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
      Recover(world, chain, pod);
    }
    std::printf("[          ] DEL of %-16s %2d points, each then %-9s %s\n", kPlugins[plugin], at - 1,
                kRecoveries[static_cast<int>(GetParam())], HasFailure() ? "FAILED" : "nothing left");
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

std::string TestName(const ::testing::TestParamInfo<Recovery>& info) {
  constexpr const char* kNames[] = {"Del", "AddAgain", "DelThenAdd", "Sweep"};
  return kNames[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(, CrashTest,
                         ::testing::Values(Recovery::kDel, Recovery::kAddAgain, Recovery::kDelThenAdd,
                                           Recovery::kSweep),
                         TestName);

}  // namespace
}  // namespace rail
