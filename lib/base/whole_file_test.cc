#include "lib/base/whole_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace rail {
namespace {

class WholeFileTest : public ::testing::Test {
 protected:
  WholeFileTest() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/made/origin.json";
  }
  ~WholeFileTest() override { std::filesystem::remove_all(folder_); }
  std::string Text() {
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string folder_ = (std::filesystem::temp_directory_path() / "rail-whole-XXXXXX").string();
  std::string path_;
};

TEST_F(WholeFileTest, IsMadeWithItsFolderAndReplaced) {
  ASSERT_TRUE(WriteWholeFile(path_, "one", 0600));
  ASSERT_TRUE(WriteWholeFile(path_, "2", 0640));
  EXPECT_EQ(Text(), "2");
  struct stat now = {};
  ASSERT_EQ(::stat(path_.c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 07777, 0640U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ + "/made"), {}), 1);
}

TEST_F(WholeFileTest, StaysAsItWasWhenItCannotBeWritten) {
  ASSERT_TRUE(WriteWholeFile(path_, "one", 0600));
  std::filesystem::create_directory(path_ + ".new");
  const Status written = WriteWholeFile(path_, "two", 0600);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, ::testing::HasSubstr("write " + path_));
  EXPECT_EQ(Text(), "one");
}

}  // namespace
}  // namespace rail
