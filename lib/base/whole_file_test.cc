#include "lib/base/whole_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>
#include <vector>

namespace rail {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class WriteWholeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = (fs::temp_directory_path() / "rail-whole-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/file";
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  static std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  mode_t Mode() const {
    struct stat st{};
    return ::stat(path_.c_str(), &st) == 0 ? st.st_mode & 07777 : 0;
  }
  std::ptrdiff_t Files() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }
  std::string folder_, path_;
};

TEST_F(WriteWholeTest, PutsANewFileInThePlaceOfTheOldOne) {
  ASSERT_TRUE(WriteWhole(path_, "old, and longer", 0600));
  std::ifstream reader(path_);  // a reader that has opened the old file goes on reading it
  ASSERT_TRUE(WriteWhole(path_, "new", 0644));
  std::string old;
  std::getline(reader, old);
  EXPECT_EQ(old, "old, and longer");
  EXPECT_EQ(Read(path_), "new");
  EXPECT_EQ(Files(), 1);
}

TEST_F(WriteWholeTest, TheModeIsTheOneAskedForWhateverTheUmask) {
  const mode_t before = ::umask(0077);
  const Status done = WriteWhole(path_, "", 0664);
  ::umask(before);
  ASSERT_TRUE(done);
  EXPECT_EQ(Mode(), 0664U);
  ASSERT_TRUE(WriteWhole(path_, "x", 0444));
  EXPECT_EQ(Mode(), 0444U);
  EXPECT_TRUE(WriteWhole(path_, "y", 0444)) << "a file that nobody may write is replaced too";
}

TEST_F(WriteWholeTest, ALinkIsReplacedAndNotFollowed) {
  std::ofstream(folder_ + "/target") << "kept";
  fs::create_symlink("target", path_);
  ASSERT_TRUE(WriteWhole(path_, "new", 0644));
  EXPECT_FALSE(fs::is_symlink(path_));
  EXPECT_EQ(Read(folder_ + "/target"), "kept");
}

TEST_F(WriteWholeTest, WorksInTheCurrentFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  const Status done = WriteWhole("file", "here", 0644);
  fs::current_path(before);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(Read(path_), "here");
}

TEST_F(WriteWholeTest, AFolderThatIsNotThereIsNamed) {
  const Status done = WriteWhole(folder_ + "/gone/file", "x", 0644);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kNotFound);
  EXPECT_THAT(done.error().message, HasSubstr(folder_ + "/gone/file"));
}

TEST_F(WriteWholeTest, WhatCannotBePutInPlaceLeavesNothingBehind) {
  fs::create_directory(path_);
  const Status done = WriteWhole(path_, "x", 0644);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr(path_ + ": put the new file in its place"));
  EXPECT_EQ(Files(), 1) << "the folder alone";
}

// The limit of a file's size stands for a full disk.
TEST_F(WriteWholeTest, ADiskThatIsFullLeavesTheOldFile) {
  ASSERT_TRUE(WriteWhole(path_, "old", 0644));
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 4096, .rlim_max = 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Status done = WriteWhole(path_, std::string(100000, 'x'), 0644);
    ::_exit(!done && done.error().sys_errno == EFBIG ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Read(path_), "old");
  EXPECT_EQ(Files(), 1);
}

TEST_F(WriteWholeTest, OfSeveralWritersOneContentStaysWhole) {
  std::vector<std::thread> writers;
  for (char c = 'a'; c < 'e'; ++c)
    writers.emplace_back([this, c] {
      for (int i = 0; i < 20; ++i) EXPECT_TRUE(WriteWhole(path_, std::string(20000, c), 0644));
    });
  for (auto& writer : writers) writer.join();
  const std::string text = Read(path_);
  EXPECT_EQ(text, std::string(20000, text.at(0)));
  EXPECT_EQ(Files(), 1);
}

TEST_F(WriteWholeTest, WhatIsRemovedIsGoneAndMayBeRemovedAgain) {
  ASSERT_TRUE(WriteWhole(path_, "x", 0644));
  ASSERT_TRUE(RemoveWhole(path_));
  EXPECT_EQ(Files(), 0);
  EXPECT_TRUE(RemoveWhole(path_));
  EXPECT_TRUE(RemoveWhole(folder_ + "/gone/file"));
}

TEST_F(WriteWholeTest, WhatCannotBeRemovedIsNamed) {
  fs::create_directory(path_);
  const Status done = RemoveWhole(path_);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("remove " + path_));
  EXPECT_EQ(Files(), 1);
}

}  // namespace
}  // namespace rail
