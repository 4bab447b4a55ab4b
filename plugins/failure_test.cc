// The chain while something that it needs does not answer: any edge, any call, the record, the disk, node.json.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plugins/testing/rail_chain.h"

namespace rail {
namespace {

using engine::testing::Answer;
using engine::testing::Edge;
using engine::testing::Name;
using engine::testing::PodSpec;
using ovs::CookieKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Edge kEdges[] = {Edge::kOvsdb,   Edge::kOpenFlow, Edge::kBgp,  Edge::kNetlink,
                           Edge::kDevices, Edge::kPods,     Edge::kIpam, Edge::kState};

class FailureTest : public testing::RailChainTest {};

// Edges that are down.

TEST_F(FailureTest, AddSaysWhichEdgeIsDownAndLeavesNothing) {
  for (const Edge edge : kEdges) {
    SCOPED_TRACE(Name(edge));
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    world.gate.down = {edge};
    const Answer answer = chain.Add(pod);
    EXPECT_EQ(answer.code, 11U) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(std::string(Name(edge)) + " is down"));
    world.gate.down.clear();
    ExpectDone(chain.Del(pod));
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

// The strongest form: every single call of an ADD fails once.
TEST_F(FailureTest, WhicheverCallOfAddFailsNothingIsLeftOfIt) {
  int failed = 0;
  for (const Edge edge : kEdges) {
    for (int call = 1;; ++call) {
      SCOPED_TRACE(fmt::format("{} call {}", Name(edge), call));
      const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
      world.gate.FailCall(edge, call, {Code::kTransient, "no answer from " + std::string(Name(edge))});
      const Answer answer = chain.Add(pod);
      const bool done = !world.gate.failed();
      world.gate.NoFault();
      if (done) {
        ExpectDone(answer);
        ExpectDone(chain.Del(pod));
        break;
      }
      ++failed;
      EXPECT_EQ(answer.code, 11U) << answer.text;
      EXPECT_THAT(answer.text, HasSubstr("no answer from " + std::string(Name(edge))));
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

// From some call on the edge does not answer any more: the clean-up of the ADD cannot reach it either.
TEST_F(FailureTest, WhereverInAddAnEdgeGoesDownTheDelAfterwardsLeavesNothing) {
  for (const Edge edge : kEdges) {
    for (int at = 1;; ++at) {
      SCOPED_TRACE(fmt::format("{} from call {} on", Name(edge), at));
      const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
      int calls = 0;
      world.gate.before = [&](Edge called, std::string_view) {
        if (called == edge && ++calls == at) world.gate.down.insert(edge);
      };
      const Answer answer = chain.Add(pod);
      world.gate.before = nullptr;
      const bool went_down = !world.gate.down.empty();
      EXPECT_EQ(static_cast<bool>(answer), !went_down);
      if (went_down && edge != Edge::kDevices && edge != Edge::kNetlink && edge != Edge::kState &&
          answer.plugin == "ovs-provider") {
        EXPECT_EQ(world.devices.Where("vf0"), std::nullopt) << "the device is never kept";
      }
      world.gate.down.clear();
      ExpectDone(chain.Del(pod));
      if (edge == Edge::kPods && went_down) world.EndNamespace(pod);
      EXPECT_THAT(world.Leftovers(), IsEmpty());
      if (!went_down) break;
    }
  }
}

TEST_F(FailureTest, DelSucceedsWithAnEdgeDownAndTheSweepFinishes) {
  const struct {
    Edge edge;
    std::vector<std::string> pending;
  } cases[] = {{Edge::kOvsdb, {"port"}},
               {Edge::kOpenFlow, {"admit", "tenant"}},
               {Edge::kBgp, {"announce"}},
               {Edge::kIpam, {"ipam"}}};
  for (const auto& [edge, pending] : cases) {
    SCOPED_TRACE(Name(edge));
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    MustAdd(pod);
    const auto raild = world.StartRaild(std::chrono::hours(1));
    world.gate.down = {edge};
    ExpectDone(chain.Del(pod));
    EXPECT_EQ(world.Pending(pod), pending);
    EXPECT_EQ(world.devices.Where("vf0"), std::nullopt) << "the device is never kept";
    EXPECT_EQ(*world.record.OwnerOf(state::ClaimKind::kDevice, "vf0"), std::nullopt);
    EXPECT_EQ(world.ipam.held().empty(), edge != Edge::kIpam) << "nor is the address";

    raild->Audit();
    EXPECT_EQ(world.Pending(pod), pending) << "the edge is still down";
    world.gate.down.clear();
    raild->Audit();
    EXPECT_THAT(world.Leftovers(), IsEmpty());
    const auto view = raild->board.Current();
    EXPECT_THAT(view->attachments, IsEmpty());
  }
}

// As when a container is started again: its id stays.
TEST_F(FailureTest, TheSameAddAgainSaysWhatItsDelWaitsFor) {
  for (const Edge edge : {Edge::kBgp, Edge::kIpam, Edge::kOvsdb}) {
    SCOPED_TRACE(Name(edge));
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    MustAdd(pod);
    world.gate.down = {edge};
    ExpectDone(chain.Del(pod));
    const Answer answer = chain.Add(pod);
    EXPECT_EQ(answer.code, 11U);
    EXPECT_THAT(answer.text, HasSubstr(" is down"));
    world.gate.down.clear();
    MustAdd(pod);
    ExpectDone(chain.Del(pod));
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

TEST_F(FailureTest, DelWithEverythingDownFreesTheDeviceAndTheSweepDoesTheRest) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  world.gate.down = {Edge::kOvsdb, Edge::kOpenFlow, Edge::kBgp, Edge::kIpam};
  ExpectDone(chain.Del(pod));
  EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
  world.gate.down.clear();
  world.StartRaild(std::chrono::hours(1))->Audit();
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

// Only the record says which device is the attachment's: prevResult is no witness.
TEST_F(FailureTest, DelWithARecordThatCannotBeReadGivesOnlyTheAddressBackAndMayBeRepeated) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  world.gate.down = {Edge::kState};
  const Answer answer = chain.Del(pod);
  EXPECT_EQ(answer.code, 11U);
  EXPECT_EQ(answer.plugin, "ovs-provider") << "the others succeed: its DEL must be reached";
  EXPECT_THAT(answer.text, HasSubstr("the node's record cannot be used"));
  EXPECT_THAT(answer.text, HasSubstr("its device, port, rules and announcement are not undone"));
  EXPECT_EQ(world.devices.Where("vf0"), pod.identity);
  EXPECT_THAT(world.ipam.held(), IsEmpty());
  world.gate.down.clear();
  ExpectDone(chain.Del(pod));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

// Dependencies that DEL does without: it keeps neither the device nor the address.

TEST_F(FailureTest, DelWithARecordThatCannotBeWrittenUndoesAllAndRaildEndsTheRecord) {
  using Disk = engine::testing::Gate::Disk;
  for (const Disk disk : {Disk::kFull, Disk::kReadOnly}) {
    SCOPED_TRACE(disk == Disk::kFull ? "full" : "read-only");
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    MustAdd(pod);
    world.gate.disk = disk;
    ExpectDone(chain.Del(pod));
    EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
    EXPECT_THAT(world.ipam.held(), IsEmpty());
    EXPECT_THAT(*world.bgp.Announced({}), IsEmpty());
    EXPECT_THAT(world.RulesOf(CookieKind::kAttachment), IsEmpty());
    EXPECT_THAT(world.RulesOf(CookieKind::kTenant), IsEmpty());
    EXPECT_EQ(OwnerOfPort("rep0"), "no such port");
    world.gate.disk = Disk::kGood;
    world.EndNamespace(pod);
    world.StartRaild()->Audit();
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

TEST_F(FailureTest, AddWithARecordThatCannotBeWrittenSaysSoAndLeavesNothing) {
  using Disk = engine::testing::Gate::Disk;
  for (const Disk disk : {Disk::kFull, Disk::kReadOnly}) {
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    world.gate.disk = disk;
    const Answer answer = chain.Add(pod);
    EXPECT_EQ(answer.code, 11U) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("state.db"));
    ExpectDone(chain.Del(pod));
    world.gate.disk = Disk::kGood;
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

// From any write on nothing can be written any more.
TEST_F(FailureTest, WhereverInAddTheDiskFillsUpTheDelLeavesNothingButTheRecord) {
  for (int at = 1;; ++at) {
    SCOPED_TRACE(fmt::format("from call {} of the record on", at));
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    int calls = 0;
    world.gate.before = [&](Edge called, std::string_view) {
      if (called == Edge::kState && ++calls == at) world.gate.disk = engine::testing::Gate::Disk::kFull;
    };
    const Answer answer = chain.Add(pod);
    world.gate.before = nullptr;
    const bool filled = world.gate.disk != engine::testing::Gate::Disk::kGood;
    EXPECT_TRUE(answer || answer.code == 11U) << answer.code << " " << answer.text;
    ExpectDone(chain.Del(pod));
    EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
    world.gate.disk = engine::testing::Gate::Disk::kGood;
    for (const std::string& left : world.Leftovers()) EXPECT_THAT(left, ::testing::StartsWith("record: "));
    world.EndNamespace(pod);
    world.StartRaild()->Audit();
    EXPECT_THAT(world.Leftovers(), IsEmpty());
    if (!filled) break;
  }
}

TEST_F(FailureTest, WithoutNodeJsonAddSaysSoAndDelGivesDeviceAndAddressBackAndLeavesTheRestPending) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  const auto raild = world.StartRaild(std::chrono::hours(1));  // it has read node.json long ago
  world.config_problem = "node.json: rails: is missing";
  const Answer added = chain.Add(world.MakePod("p2", "ns-a", "vf1"));
  EXPECT_EQ(added.code, 11U);
  EXPECT_THAT(added.text, HasSubstr("node.json: rails: is missing"));
  ExpectDone(chain.Del(pod));
  EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
  EXPECT_THAT(world.ipam.held(), IsEmpty());
  EXPECT_THAT(world.Pending(pod), ElementsAre("port", "admit", "tenant", "announce"));
  for (const state::Step& step : world.Steps(pod)) EXPECT_THAT(step.pending, HasSubstr("node.json"));
  raild->Audit();
  EXPECT_THAT(world.Leftovers(), ElementsAre("pod: policy rules of net1"));
}

TEST_F(FailureTest, WhicheverCallOfDelFailsTheSweepOrAnotherDelFinishes) {
  int failed = 0;
  for (const Edge edge : kEdges) {
    for (int call = 1;; ++call) {
      SCOPED_TRACE(fmt::format("{} call {}", Name(edge), call));
      const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
      MustAdd(pod);
      world.gate.FailCall(edge, call, {Code::kTransient, "no answer from " + std::string(Name(edge))});
      const Answer answer = chain.Del(pod);
      const bool done = !world.gate.failed();
      world.gate.NoFault();
      if (edge != Edge::kState) ExpectDone(answer);
      if (!answer) {
        EXPECT_EQ(answer.code, 11U) << answer.text;
        ExpectDone(chain.Del(pod));
      }
      // Where its failure could not be recorded it is not known to have ended: raild waits.
      world.StartRaild(edge == Edge::kState ? Clock::duration::zero() : std::chrono::hours(1))->Audit();
      if (edge == Edge::kPods && !done) {
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
