#include "lib/state/testing/crash_store.h"

#include <gtest/gtest.h>

#include "lib/state/testing/memory.h"

namespace rail::state::testing {
namespace {

Attachment Draft() {
  Attachment draft;
  draft.key = {"rail0", "c1", "net1"};
  return draft;
}

TEST(CrashStore, CallsBeforeAWriteAtAnOddPoint) {
  Memory record;
  size_t seen = 99;
  CrashStore store(std::make_unique<Memory>(record),
                   {.at = 1, .crash = [&](const std::string&) { seen = record.List()->size(); }});
  ASSERT_TRUE(store.Create(Draft()));
  EXPECT_EQ(seen, 0U);
}

TEST(CrashStore, CallsAfterAWriteAtAnEvenPoint) {
  Memory record;
  size_t seen = 99;
  CrashStore store(std::make_unique<Memory>(record),
                   {.at = 2, .crash = [&](const std::string&) { seen = record.List()->size(); }});
  ASSERT_TRUE(store.Create(Draft()));
  EXPECT_EQ(seen, 1U);
}

TEST(CrashStore, CountsEveryWriteAndNoRead) {
  CrashStore store(std::make_unique<Memory>(), {});
  auto a = store.Create(Draft());
  ASSERT_TRUE(a);
  EXPECT_TRUE(store.SetPhase(a->id, Phase::kReady));
  EXPECT_TRUE(store.SetAddresses(a->id, {}, {}));
  EXPECT_TRUE(store.SetOfport(a->id, 7));
  EXPECT_TRUE(store.SetTenant(a->id, "t", {0, 1}));
  EXPECT_TRUE(store.SetAnnounced(a->id, true));
  EXPECT_TRUE(store.Claim(a->id, ClaimKind::kPort, "rep0"));
  EXPECT_TRUE(store.Release(a->id, ClaimKind::kPort, "rep0"));
  EXPECT_TRUE(store.ReleaseAll(a->id, ClaimKind::kAddress));
  auto step = store.RecordStep(a->id, "ovs-provider", "port", "{}");
  ASSERT_TRUE(step);
  EXPECT_TRUE(store.SetPending(*step, "ovs is down"));
  EXPECT_TRUE(store.ForgetStep(*step));
  EXPECT_TRUE(store.Remove(a->id));
  EXPECT_EQ(store.points(), 26);
  EXPECT_TRUE(store.Find(a->key));
  EXPECT_TRUE(store.List());
  EXPECT_TRUE(store.Steps(a->id));
  EXPECT_TRUE(store.OwnerOf(ClaimKind::kPort, "rep0"));
  EXPECT_TRUE(store.Version());
  EXPECT_EQ(store.points(), 26);
}

}  // namespace
}  // namespace rail::state::testing
