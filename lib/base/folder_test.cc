#include "lib/base/folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace rail {
namespace {

namespace fs = std::filesystem;

class MakeFolderTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(top_); }
  void TearDown() override { fs::remove_all(top_); }

  static mode_t Mode(const fs::path& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }

  const fs::path top_ = fs::path(::testing::TempDir()) / ("folder_test-" + std::to_string(::getpid()));
};

TEST_F(MakeFolderTest, MakesAllThatIsMissingWithTheModeWhateverTheUmaskIs) {
  const mode_t before = ::umask(0077);
  const Status made = MakeFolder((top_ / "a/b").string(), 0750);
  ::umask(before);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(Mode(top_ / "a"), 0750U);
  EXPECT_EQ(Mode(top_ / "a/b"), 0750U);
}

TEST_F(MakeFolderTest, LeavesWhatIsThereAsItIs) {
  ASSERT_TRUE(MakeFolder(top_.string(), 0700));
  ASSERT_TRUE(MakeFolder((top_ / "a").string(), 0755));
  ASSERT_TRUE(MakeFolder((top_ / "a").string(), 0711));
  EXPECT_EQ(Mode(top_), 0700U);
  EXPECT_EQ(Mode(top_ / "a"), 0755U);
}

TEST_F(MakeFolderTest, SaysWhatIsInTheWay) {
  ASSERT_TRUE(MakeFolder(top_.string(), 0700));
  std::ofstream(top_ / "file") << "x";
  for (const fs::path& path : {top_ / "file", top_ / "file/below"}) {
    const Status made = MakeFolder(path.string(), 0700);
    ASSERT_FALSE(made) << path;
    EXPECT_NE(made.error().message.find((top_ / "file").string()), std::string::npos) << made.error().message;
  }
}

TEST_F(MakeFolderTest, NamesWithoutAFolderAreHere) {
  EXPECT_TRUE(MakeFolder("", 0755));
  EXPECT_TRUE(MakeFolder("/", 0755));
}

TEST_F(MakeFolderTest, ItsNamesAreSorted) {
  ASSERT_TRUE(MakeFolder((top_ / "b").string(), 0755));
  EXPECT_EQ(*NamesIn((top_ / "b").string()), std::vector<std::string>());
  for (const std::string name : {"c", ".a", "b/d"}) std::ofstream(top_ / name) << "x";
  EXPECT_EQ(*NamesIn(top_.string()), (std::vector<std::string>{".a", "b", "c"}));
}

TEST_F(MakeFolderTest, AFolderThatCannotBeListedIsNamed) {
  const auto names = NamesIn((top_ / "gone").string());
  ASSERT_FALSE(names);
  EXPECT_EQ(names.error().code, Code::kNotFound);
  EXPECT_NE(names.error().message.find((top_ / "gone").string()), std::string::npos) << names.error().message;
}

}  // namespace
}  // namespace rail
