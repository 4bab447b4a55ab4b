#include "lib/base/file_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
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
