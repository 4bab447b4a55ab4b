// The chain while something that it needs does not answer: any dependency, any call, the record, the disk, node.json.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plugins/testing/rail_chain.h"

namespace rail {
namespace {

using engine::testing::Answer;
using engine::testing::Dependency;
using engine::testing::Name;
using engine::testing::PodSpec;
using ovs::CookieKind;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Dependency kEdges[] = {Dependency::kOvsdb,   Dependency::kOpenFlow, Dependency::kBgp,
                                 Dependency::kNetlink, Dependency::kDevices,  Dependency::kPods,
                                 Dependency::kIpam,    Dependency::kState};

class FailureTest : public testing::RailChainTest {};

// Connections that are down.

TEST_F(FailureTest, AddSaysWhichEdgeIsDownAndLeavesNothing) {
  for (const Dependency dependency : kEdges) {
    SCOPED_TRACE(Name(dependency));
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    world.faults.down = {dependency};
    const Answer answer = chain.Add(pod);
    EXPECT_EQ(answer.code, 11U) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(std::string(Name(dependency)) + " is down"));
    world.faults.down.clear();
    ExpectDone(chain.Del(pod));
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

// Only its undo can look at the device again.
TEST_F(FailureTest, ACallOfAnAddMayTakeThreeTimesAsLongAsOneOfItsUndo) {
  std::map<std::string, std::vector<int64_t>> seconds;  // that a call may take, by what is called
  engine::Deps deps = world.deps();
  deps.openers = [&, openers = deps.openers](const config::NodeConfig& config) {
    engine::Openers all = openers(config);
    const auto note = [&](const std::string& what, Deadline deadline) {
      seconds[what].push_back(std::chrono::round<std::chrono::seconds>(deadline - Clock::now()).count());
    };
    all.lock_device = [=, lock = all.lock_device](const std::string& device, Deadline deadline) {
      note("device", deadline);
      return lock(device, deadline);
    };
    all.openflow = [=, open = all.openflow](const std::string& bridge, Deadline deadline) {
      note("switch", deadline);
      return open(bridge, deadline);
    };
    all.bgp = [=, open = all.bgp](Deadline deadline) {
      note("bgpd", deadline);
      return open(deadline);
    };
    return all;
  };
  engine::testing::Chain noted(
      {ovs_provider::MakePlugin(deps), tenant_isolation::MakePlugin(deps), frr_provider::MakePlugin(deps)});
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  ExpectDone(noted.Add(pod));
  EXPECT_THAT(seconds["device"], ElementsAre(15));
  EXPECT_THAT(seconds["switch"], ElementsAre(15, 15)) << "of ovs-provider, and of tenant-isolation";
  EXPECT_THAT(seconds["bgpd"], AllOf(Not(IsEmpty()), Each(15)));
  ExpectDone(noted.Del(pod));
  seconds.clear();
  world.faults.down = {Dependency::kOpenFlow};
  EXPECT_EQ(noted.Add(pod).plugin, "ovs-provider");
  EXPECT_THAT(seconds["device"], ElementsAre(15, 5));
}

// The strongest form: every single call of an ADD fails once.
TEST_F(FailureTest, WhicheverCallOfAddFailsNothingIsLeftOfIt) {
  int failed = 0;
  for (const Dependency dependency : kEdges) {
    for (int call = 1;; ++call) {
      SCOPED_TRACE(fmt::format("{} call {}", Name(dependency), call));
      const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
      world.faults.FailCall(dependency, call,
                            {Code::kTransient, "no answer from " + std::string(Name(dependency))});
      const Answer answer = chain.Add(pod);
      const bool done = !world.faults.failed();
      world.faults.NoFault();
      if (done) {
        ExpectDone(answer);
        ExpectDone(chain.Del(pod));
        break;
      }
      ++failed;
      EXPECT_EQ(answer.code, 11U) << answer.text;
      EXPECT_THAT(answer.text, HasSubstr("no answer from " + std::string(Name(dependency))));
      if (answer.plugin == "ovs-provider") {
        EXPECT_THAT(world.Leftovers(), IsEmpty()) << "a failed ADD cleans up by itself";
      } else {
        EXPECT_EQ(world.Attachment(pod).phase, state::Phase::kReady);
        for (const state::Step& step : world.Steps(pod)) EXPECT_NE(step.owner, answer.plugin) << step.kind;
      }
      ExpectDone(chain.Del(pod));
      EXPECT_THAT(world.Leftovers(), IsEmpty());
    }
  }
  EXPECT_GT(failed, 25);
  std::printf("[          ] %d calls of ADD failed, one at a time\n", failed);
}

// From some call on the dependency does not answer any more: the clean-up of the ADD cannot reach it either.
TEST_F(FailureTest, WhereverInAddAnEdgeGoesDownTheDelAfterwardsLeavesNothing) {
  for (const Dependency dependency : kEdges) {
    for (int at = 1;; ++at) {
      SCOPED_TRACE(fmt::format("{} from call {} on", Name(dependency), at));
      const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
      int calls = 0;
      world.faults.before = [&](Dependency called, std::string_view) {
        if (called == dependency && ++calls == at) world.faults.down.insert(dependency);
      };
      const Answer answer = chain.Add(pod);
      world.faults.before = nullptr;
      const bool went_down = !world.faults.down.empty();
      EXPECT_EQ(static_cast<bool>(answer), !went_down);
      if (went_down && dependency != Dependency::kDevices && dependency != Dependency::kNetlink &&
          dependency != Dependency::kState && answer.plugin == "ovs-provider") {
        EXPECT_EQ(world.devices.Where("vf0"), std::nullopt) << "the device is never kept";
      }
      world.faults.down.clear();
      ExpectDone(chain.Del(pod));
      if (dependency == Dependency::kPods && went_down) world.EndNamespace(pod);
      EXPECT_THAT(world.Leftovers(), IsEmpty());
      if (!went_down) break;
    }
  }
}

TEST_F(FailureTest, DelSucceedsWithAnEdgeDownAndTheSweepFinishes) {
  const struct {
    Dependency dependency;
    std::vector<std::string> pending;
  } cases[] = {{Dependency::kOvsdb, {"port"}},
               {Dependency::kOpenFlow, {"ipam", "admit", "tenant"}},
               {Dependency::kBgp, {"ipam", "announce"}},
               {Dependency::kIpam, {"ipam"}}};
  for (const auto& [dependency, pending] : cases) {
    SCOPED_TRACE(Name(dependency));
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    MustAdd(pod);
    const auto raild = world.StartRaild(std::chrono::hours(1));
    world.faults.down = {dependency};
    ExpectDone(chain.Del(pod));
    EXPECT_EQ(world.Pending(pod), pending);
    EXPECT_EQ(world.devices.Where("vf0"), std::nullopt) << "the device is never kept";
    EXPECT_EQ(*world.record.OwnerOf(state::ClaimKind::kDevice, "vf0"), std::nullopt);
    EXPECT_EQ(world.ipam.held().empty(), dependency == Dependency::kOvsdb)
        << "the address is, while rules or an announcement of it are left";
    const bool claimed = world.record.OwnerOf(state::ClaimKind::kAddress, "10.0.3.1")->has_value();
    EXPECT_EQ(claimed, dependency == Dependency::kOpenFlow || dependency == Dependency::kBgp);

    raild->Audit();
    EXPECT_EQ(world.Pending(pod), pending) << "the dependency is still down";
    world.faults.down.clear();
    raild->Audit();
    EXPECT_THAT(world.Leftovers(), IsEmpty());
    const auto view = raild->views.Current();
    EXPECT_THAT(view->attachments, IsEmpty());
  }
}

// As when a container is started again: its id stays.
TEST_F(FailureTest, TheSameAddAgainSaysWhatItsDelWaitsFor) {
  for (const Dependency dependency : {Dependency::kBgp, Dependency::kIpam, Dependency::kOvsdb}) {
    SCOPED_TRACE(Name(dependency));
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    MustAdd(pod);
    world.faults.down = {dependency};
    ExpectDone(chain.Del(pod));
    const Answer answer = chain.Add(pod);
    EXPECT_EQ(answer.code, 11U);
    EXPECT_THAT(answer.text, HasSubstr(" is down"));
    world.faults.down.clear();
    MustAdd(pod);
    ExpectDone(chain.Del(pod));
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

TEST_F(FailureTest, DelWithEverythingDownFreesTheDeviceAndTheSweepDoesTheRest) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  world.faults.down = {Dependency::kOvsdb, Dependency::kOpenFlow, Dependency::kBgp, Dependency::kIpam};
  ExpectDone(chain.Del(pod));
  EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
  world.faults.down.clear();
  world.StartRaild(std::chrono::hours(1))->Audit();
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

// Only the record says which device is the attachment's: DEL does not believe prevResult.
TEST_F(FailureTest, DelWithARecordThatCannotBeReadGivesOnlyTheAddressBackAndMayBeRepeated) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  world.faults.down = {Dependency::kState};
  const Answer answer = chain.Del(pod);
  EXPECT_EQ(answer.code, 11U);
  EXPECT_EQ(answer.plugin, "ovs-provider") << "the others succeed: its DEL must be reached";
  EXPECT_THAT(answer.text, HasSubstr("the node's record cannot be used"));
  EXPECT_THAT(answer.text, HasSubstr("its device, port, rules and announcement are not undone"));
  EXPECT_EQ(world.devices.Where("vf0"), pod.identity);
  EXPECT_THAT(world.ipam.held(), IsEmpty());
  world.faults.down.clear();
  ExpectDone(chain.Del(pod));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

// Dependencies that DEL does without: it does not keep the device.

TEST_F(FailureTest, DelWithARecordThatCannotBeWrittenUndoesAllAndRaildEndsTheRecord) {
  using Disk = engine::testing::FaultInjector::Disk;
  for (const Disk disk : {Disk::kFull, Disk::kReadOnly}) {
    SCOPED_TRACE(disk == Disk::kFull ? "full" : "read-only");
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    MustAdd(pod);
    world.faults.disk = disk;
    ExpectDone(chain.Del(pod));
    EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
    EXPECT_THAT(world.ipam.held(), IsEmpty());
    EXPECT_THAT(*world.bgp.Announced({}), IsEmpty());
    EXPECT_THAT(world.RulesOf(CookieKind::kAttachment), IsEmpty());
    EXPECT_THAT(world.RulesOf(CookieKind::kTenant), IsEmpty());
    EXPECT_EQ(OwnerOfPort("rep0"), "no such port");
    world.faults.disk = Disk::kGood;
    world.EndNamespace(pod);
    world.StartRaild()->Audit();
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

TEST_F(FailureTest, AddWithARecordThatCannotBeWrittenSaysSoAndLeavesNothing) {
  using Disk = engine::testing::FaultInjector::Disk;
  for (const Disk disk : {Disk::kFull, Disk::kReadOnly}) {
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    world.faults.disk = disk;
    const Answer answer = chain.Add(pod);
    EXPECT_EQ(answer.code, 11U) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("state.db"));
    ExpectDone(chain.Del(pod));
    world.faults.disk = Disk::kGood;
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

// From one write on, whichever it is, nothing can be written any more.
TEST_F(FailureTest, WhereverInAddTheDiskFillsUpTheDelLeavesNothingButTheRecord) {
  for (int at = 1;; ++at) {
    SCOPED_TRACE(fmt::format("from call {} of the record on", at));
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    int calls = 0;
    world.faults.before = [&](Dependency called, std::string_view) {
      if (called == Dependency::kState && ++calls == at)
        world.faults.disk = engine::testing::FaultInjector::Disk::kFull;
    };
    const Answer answer = chain.Add(pod);
    world.faults.before = nullptr;
    const bool filled = world.faults.disk != engine::testing::FaultInjector::Disk::kGood;
    EXPECT_TRUE(answer || answer.code == 11U) << answer.code << " " << answer.text;
    ExpectDone(chain.Del(pod));
    EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
    world.faults.disk = engine::testing::FaultInjector::Disk::kGood;
    for (const std::string& left : world.Leftovers()) EXPECT_THAT(left, ::testing::StartsWith("record: "));
    world.EndNamespace(pod);
    world.StartRaild()->Audit();
    EXPECT_THAT(world.Leftovers(), IsEmpty());
    if (!filled) break;
  }
}

TEST_F(FailureTest, WithoutNodeJsonAddSaysSoAndDelGivesTheDeviceBackAndLeavesTheRestPending) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  const auto raild = world.StartRaild(std::chrono::hours(1));  // it has read node.json long ago
  world.config_problem = "node.json: rails: is missing";
  const Answer added = chain.Add(world.MakePod("p2", "ns-a", "vf1"));
  EXPECT_EQ(added.code, 11U);
  EXPECT_THAT(added.text, HasSubstr("node.json: rails: is missing"));
  ExpectDone(chain.Del(pod));
  EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
  EXPECT_THAT(world.Pending(pod), ElementsAre("port", "ipam", "admit", "tenant", "announce"));
  for (const state::Step& step : world.Steps(pod)) EXPECT_THAT(step.pending, HasSubstr("node.json"));
  raild->Audit();
  EXPECT_THAT(world.Leftovers(), ElementsAre("pod: policy rules of net1"));
}

TEST_F(FailureTest, WhicheverCallOfDelFailsTheSweepOrAnotherDelFinishes) {
  int failed = 0;
  for (const Dependency dependency : kEdges) {
    for (int call = 1;; ++call) {
      SCOPED_TRACE(fmt::format("{} call {}", Name(dependency), call));
      const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
      MustAdd(pod);
      world.faults.FailCall(dependency, call,
                            {Code::kTransient, "no answer from " + std::string(Name(dependency))});
      const Answer answer = chain.Del(pod);
      const bool done = !world.faults.failed();
      world.faults.NoFault();
      if (dependency != Dependency::kState) ExpectDone(answer);
      if (!answer) {
        EXPECT_EQ(answer.code, 11U) << answer.text;
        ExpectDone(chain.Del(pod));
      }
      // If the DEL could not record its failure, raild does not know that it has ended, and waits for it.
      world.StartRaild(dependency == Dependency::kState ? Clock::duration::zero() : std::chrono::hours(1))
          ->Audit();
      if (dependency == Dependency::kPods && !done) {
        // Policy rules in a pod that lives on do no harm, and no device waits for their removal.
        EXPECT_THAT(world.Leftovers(), ElementsAre("pod: policy rules of net1"));
        world.EndNamespace(pod);
      }
      EXPECT_THAT(world.Leftovers(), IsEmpty());
      if (done) break;
      ++failed;
    }
  }
  EXPECT_GT(failed, 20);
  std::printf("[          ] %d calls of DEL failed, one at a time\n", failed);
}
}  // namespace
}  // namespace rail
