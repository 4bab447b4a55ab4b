// What is left of pods that are gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

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
