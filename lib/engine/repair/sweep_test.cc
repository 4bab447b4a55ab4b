// What is left of pods that are gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <tuple>

#include "lib/engine/testing/repair_fixture.h"

namespace rail::engine {
namespace {

using ::testing::Contains;
using testing::FaultInjector;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::PodSpec;
using testing::RepairTest;
using ::testing::StartsWith;

TEST_F(RepairTest, UndoesAnAttachmentWhoseNamespaceIsGoneAfterTheGrace) {
  Settle();
  world.EndNamespace(pod);
  Audit();
  Audit();
  EXPECT_TRUE(world.FindAttachment(pod)) << "its DEL may be on its way";
  raild = world.StartRaild(std::chrono::hours(0));
  Audit();
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(RepairTest, UndoesAtOnceWhatWasMadeBeforeTheMachineWasBooted) {
  Settle();
  const int64_t made = world.Attachment(pod).created_ms;
  raild = world.StartRaild(std::chrono::hours(1), made + 1);
  Audit();
  EXPECT_TRUE(world.FindAttachment(pod)) << "its namespace is there";
  world.EndNamespace(pod);
  raild = world.StartRaild(std::chrono::hours(1), made);
  Audit();
  EXPECT_TRUE(world.FindAttachment(pod)) << "its DEL may be on its way";
  raild = world.StartRaild(std::chrono::hours(1), made + 1);
  Audit();
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(RepairTest, ANamespaceOfAnotherPodUnderTheSamePathCountsAsGone) {
  Settle();
  const PodSpec other = world.MakePod("p2", "ns-a", "vf1");
  std::string stolen = pod.netns;
  world.EndNamespace(pod);
  ASSERT_EQ(::rename(other.netns.c_str(), stolen.c_str()), 0);
  raild = world.StartRaild(std::chrono::hours(0));
  Audit();
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(RepairTest, FinishesADelThatDiedThoughTheNamespaceLivesOnAfterTheGrace) {
  Settle();
  ASSERT_TRUE(world.record.SetPhase(world.Attachment(pod).id, state::Phase::kDeleting));
  Audit();
  EXPECT_TRUE(world.FindAttachment(pod)) << "the DEL may be under way";
  raild = world.StartRaild(std::chrono::hours(0));
  Audit();
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

// Whoever reads the record does not say meanwhile that all is right, nor the other way round.
TEST_F(RepairTest, ARecordThatCanBeReadAndNotWrittenIsAPartOfItsOwnUntilItCan) {
  Settle();
  world.EndNamespace(pod);
  raild = world.StartRaild(std::chrono::hours(0));
  world.faults.disk = FaultInjector::Disk::kFull;
  raild->sweeper.Run();
  raild->node_status.Publish(raild->record);
  EXPECT_THAT(Problems(), Contains("writing the record: state.db: the disk is full"));
  EXPECT_THAT(Problems(), Not(Contains(StartsWith("state:"))));
  world.faults.disk = FaultInjector::Disk::kGood;
  Audit();
  EXPECT_THAT(Problems(), Not(Contains(StartsWith("writing the record"))));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(RepairTest, EachAttachmentThatIsSweptHasATimeOfItsOwn) {
  raild = world.StartRaild();
  for (const auto& [name, device, address] :
       {std::tuple{"p1", "vf0", "10.0.3.1"}, std::tuple{"p2", "vf1", "10.0.3.2"}}) {
    const PodSpec gone = world.MakePod(name, "ns-a", device);
    Attach(gone, address);
    const cni::IpamCall call{.type = "fake", .path = {}, .environment = {}, .config = "{}"};
    ASSERT_TRUE(world.record.RecordStep(world.Attachment(gone).id, kOvsProvider, step::kIpam, call.ToJson()));
    world.EndNamespace(gone);
  }
  std::vector<Deadline> deadlines;
  Deps deps = world.DepsOfRaild();
  deps.openers = [&, inner = deps.openers](const config::NodeConfig& config) {
    Openers openers = inner(config);
    openers.release_addresses = [&](const cni::IpamCall&, Deadline deadline) -> cni::Outcome<void> {
      deadlines.push_back(deadline);
      return {};
    };
    return openers;
  };
  const int steps = world.steps_ended;
  Sweeper sweeper(world.config, deps, *raild->store, raild->node_status, std::chrono::hours(0), 0);
  EXPECT_EQ(sweeper.Run().undone, 2);
  ASSERT_EQ(deadlines.size(), 2U);
  EXPECT_LT(deadlines[0], deadlines[1]);
  EXPECT_EQ(world.steps_ended, steps + 2) << "so that the watchdog sees it work";
}

TEST_F(RepairTest, LeavesAnAttachmentThatIsBeingMadeAlone) {
  raild = world.StartRaild(std::chrono::hours(0));
  state::Attachment draft;
  pod = world.MakePod("p1", "ns-a", "vf0");
  draft.key = {"rail0", pod.container, "net1"};
  draft.rail = "rail0";
  draft.device = "vf0";
  draft.netns_path = pod.netns;
  draft.netns_device = pod.identity.device;
  draft.netns_inode = pod.identity.inode;
  ASSERT_TRUE(world.record.Create(draft));
  Audit();
  EXPECT_TRUE(world.FindAttachment(pod));
}

}  // namespace
}  // namespace rail::engine
