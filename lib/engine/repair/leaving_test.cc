#include "lib/engine/repair/leaving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/attach/tenant_move.h"

namespace rail::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kMoved = 1'800'000'000'000;
constexpr int64_t kWhole = milliseconds(kTwoIds).count();

Record LeftAt(int64_t unix_ms) {
  state::Attachment attachment;
  attachment.id = 5;
  attachment.leaving = {0, 7};
  attachment.leaving_ms = unix_ms;
  return {.attachments = {attachment}, .steps = {}};
}

class LeavingTest : public ::testing::Test {
 protected:
  const Deadline now = Clock::now();
  Leaving leaving;
};

TEST_F(LeavingTest, IsDueATimeAfterTheMove) {
  EXPECT_FALSE(leaving.next());
  leaving.See(LeftAt(kMoved), now, kMoved + 3000);
  EXPECT_EQ(leaving.next(), now + kTwoIds - seconds(3));
  EXPECT_THAT(leaving.TakeDue(now + kTwoIds - milliseconds(3001)), IsEmpty());
  EXPECT_THAT(leaving.TakeDue(now + kTwoIds - seconds(3)), ElementsAre(5));
}

TEST_F(LeavingTest, StaysDueAtTheSameTimeWhateverTheClockSaysLater) {
  leaving.See(LeftAt(kMoved), now, kMoved);
  leaving.See(LeftAt(kMoved), now + seconds(4), kMoved - 3'600'000);
  EXPECT_EQ(leaving.next(), now + kTwoIds);
}

TEST_F(LeavingTest, IsNotKeptForEverByAClockThatWasSetBack) {
  leaving.See(LeftAt(kMoved), now, kMoved - 3'600'000);
  EXPECT_EQ(leaving.next(), now + kTwoIds);
}

TEST_F(LeavingTest, IsDueAtOnceAfterALongTimeWithoutRaild) {
  leaving.See(LeftAt(kMoved), now, kMoved + 10 * kWhole);
  EXPECT_THAT(leaving.TakeDue(now), ElementsAre(5));
}

TEST_F(LeavingTest, BeginsAgainWithTheNextMove) {
  leaving.See(LeftAt(kMoved), now, kMoved);
  leaving.See(LeftAt(kMoved + 4000), now + seconds(4), kMoved + 4000);
  EXPECT_EQ(leaving.next(), now + seconds(4) + kTwoIds);
}

TEST_F(LeavingTest, IsTriedAgainWhereTheRecordHasNotTakenIt) {
  leaving.See(LeftAt(kMoved), now, kMoved);
  const Deadline due = now + kTwoIds;
  EXPECT_THAT(leaving.TakeDue(due), ElementsAre(5));
  leaving.See(LeftAt(kMoved), due, kMoved + kWhole);
  EXPECT_EQ(leaving.next(), due + Leaving::kAgain);
  EXPECT_THAT(leaving.TakeDue(due + Leaving::kAgain), ElementsAre(5));
  leaving.See({}, due, kMoved + kWhole);
  EXPECT_FALSE(leaving.next());
}

}  // namespace
}  // namespace rail::engine
