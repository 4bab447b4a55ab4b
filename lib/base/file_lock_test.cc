#include "lib/base/file_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <iterator>
#include <string>

namespace rail {
namespace {

using Kind = FileLock::Kind;

class FileLockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() / "rail-lock-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Result<FileLock> Get(Kind kind) { return FileLock::Get(folder_ + "/lock", kind); }
  Code Refused(Kind kind) {
    const auto got = Get(kind);
    return got ? Code::kInternal : got.error().code;
  }
  static Deadline Soon() { return After(std::chrono::seconds(20)); }
  std::string folder_;
};

TEST_F(FileLockTest, IsHeldByManyOrByOneAlone) {
  const auto first = Get(Kind::kShared);
  const auto second = Get(Kind::kShared);
  EXPECT_TRUE(first && second);
  EXPECT_EQ(Refused(Kind::kAlone), Code::kBusy);
}

TEST_F(FileLockTest, IsHeldByNobodyBesideOneAlone) {
  auto alone = Get(Kind::kAlone);
  ASSERT_TRUE(alone);
  EXPECT_EQ(Refused(Kind::kShared), Code::kBusy);
  EXPECT_EQ(Refused(Kind::kAlone), Code::kBusy);
  *alone = FileLock();
  EXPECT_TRUE(Get(Kind::kShared));
  EXPECT_TRUE(Get(Kind::kAlone));
}

TEST_F(FileLockTest, IsHadAsSoonAsItIsFree) {
  auto alone = Get(Kind::kAlone);
  ASSERT_TRUE(alone);
  auto waiting =
      std::async(std::launch::async, [&] { return FileLock::Wait(folder_ + "/lock", Kind::kAlone, Soon()); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  *alone = FileLock();
  const auto had = waiting.get();
  EXPECT_TRUE(had);
  EXPECT_EQ(Refused(Kind::kAlone), Code::kBusy);
}

TEST_F(FileLockTest, WhoWaitsInVainHoldsNothingLater) {
  auto alone = Get(Kind::kAlone);
  ASSERT_TRUE(alone);
  const auto in_vain = FileLock::Wait(folder_ + "/lock", Kind::kAlone, After(std::chrono::milliseconds(20)));
  ASSERT_FALSE(in_vain);
  EXPECT_EQ(in_vain.error().code, Code::kBusy);
  *alone = FileLock();
  EXPECT_TRUE(FileLock::Wait(folder_ + "/lock", Kind::kAlone, Soon()))
      << "the thread that waited has let it go";
}

TEST_F(FileLockTest, ASharedOneIsWaitedForToo) {
  auto alone = Get(Kind::kAlone);
  ASSERT_TRUE(alone);
  auto waiting = std::async(std::launch::async,
                            [&] { return FileLock::Wait(folder_ + "/lock", Kind::kShared, Soon()); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  *alone = FileLock();
  const auto had = waiting.get();
  EXPECT_TRUE(had);
  EXPECT_TRUE(Get(Kind::kShared)) << "others may share it";
  EXPECT_EQ(Refused(Kind::kAlone), Code::kBusy);
}

// Of one thread that waits there is an entry in this folder. Source: proc(5), task.
size_t Threads() {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                                           std::filesystem::directory_iterator()));
}

TEST_F(FileLockTest, NobodyWaitsUntilATimeThatHasPassed) {
  const size_t before = Threads();
  const auto alone = Get(Kind::kAlone);
  ASSERT_TRUE(alone);
  EXPECT_FALSE(FileLock::Wait(folder_ + "/lock", Kind::kShared, Clock::now()));
  EXPECT_EQ(Threads(), before);
}

TEST_F(FileLockTest, AHolderThatHangsKeepsFewThreads) {
  const size_t before = Threads();
  auto alone = Get(Kind::kAlone);
  ASSERT_TRUE(alone);
  for (int i = 0; i < 3 * FileLock::kMostWaiting; ++i) {
    const auto in_vain = FileLock::Wait(folder_ + "/lock", Kind::kAlone, After(std::chrono::milliseconds(1)));
    ASSERT_FALSE(in_vain);
    EXPECT_EQ(in_vain.error().code, Code::kBusy);
  }
  EXPECT_LE(Threads(), before + FileLock::kMostWaiting);
  *alone = FileLock();
  const Deadline end = Soon();
  auto had = FileLock::Wait(folder_ + "/lock", Kind::kAlone, end);
  while (!had && Clock::now() < end)
    had = FileLock::Wait(folder_ + "/lock", Kind::kAlone, end);  // the threads are still going
  EXPECT_TRUE(had);
}

TEST_F(FileLockTest, GoesWithTheProcess) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = Get(Kind::kAlone);
    ::_exit(held ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_TRUE(Get(Kind::kShared));
}

TEST_F(FileLockTest, SaysWhatCannotBeMade) {
  const auto got = FileLock::Get(folder_ + "/gone/lock", Kind::kShared);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kNotFound);
}

TEST_F(FileLockTest, OfAFolderIsHeldByNobodyElse) {
  {
    const auto folder = FileLock::OfFolder(folder_);
    ASSERT_TRUE(folder) << folder.error().message;
    EXPECT_NE(::system(("flock --nonblock " + folder_ + " true").c_str()), 0);
  }
  EXPECT_EQ(::system(("flock --nonblock " + folder_ + " true").c_str()), 0);
  EXPECT_EQ(FileLock::OfFolder(folder_ + "/gone").error().code, Code::kNotFound);
}

}  // namespace
}  // namespace rail
