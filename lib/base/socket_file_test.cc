#include "lib/base/socket_file.h"

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "lib/base/fd.h"

namespace rail {
namespace {

using testing::HasSubstr;

class SocketFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/sfXXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    path_ = root_ + "/run/raild.sock";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  static Fd Listen(const std::string& path) {
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << path;
    EXPECT_EQ(::listen(fd.get(), 1), 0);
    return fd;
  }
  static struct stat Stat(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    return info;
  }
  size_t Entries() const {
    const std::filesystem::directory_iterator folder(root_ + "/run");
    return static_cast<size_t>(std::distance(begin(folder), end(folder)));
  }

  std::string root_;
  std::string path_;
};

TEST_F(SocketFileTest, MakesTheFolderAndGivesTheGroupAccess) {
  const mode_t umask = ::umask(0077);
  auto file = SocketFile::Prepare(path_);
  ::umask(umask);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(Stat(root_ + "/run").st_mode & 07777, 0755U);
  EXPECT_EQ(Stat(std::filesystem::path(file->bind_path()).parent_path()).st_mode & 07777, 0700U);
  const Fd listener = Listen(file->bind_path());
  EXPECT_FALSE(std::filesystem::exists(path_));

  ASSERT_TRUE(file->Publish("daemon"));
  EXPECT_TRUE(S_ISSOCK(Stat(path_).st_mode));
  EXPECT_EQ(Stat(path_).st_mode & 07777, 0660U);
  EXPECT_EQ(Stat(path_).st_gid, ::getgrnam("daemon")->gr_gid);
  EXPECT_EQ(Entries(), 1U) << "the private folder is left";
}

TEST_F(SocketFileTest, IsForRootAloneWithoutTheGroup) {
  auto file = SocketFile::Prepare(path_);
  ASSERT_TRUE(file) << file.error().message;
  const Fd listener = Listen(file->bind_path());
  ASSERT_TRUE(file->Publish("no-such-group"));
  EXPECT_EQ(Stat(path_).st_mode & 07777, 0600U);
}

TEST_F(SocketFileTest, RefusesAPathOnWhichSomebodyAnswers) {
  std::filesystem::create_directory(root_ + "/run");
  const Fd other = Listen(path_);
  const auto file = SocketFile::Prepare(path_);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Code::kBusy);
  EXPECT_THAT(file.error().message, HasSubstr(path_));
  EXPECT_EQ(Entries(), 1U);
}

TEST_F(SocketFileTest, ReplacesADeadSocket) {
  std::filesystem::create_directory(root_ + "/run");
  {
    const Fd dead = Listen(path_);
  }
  const ino_t before = Stat(path_).st_ino;
  auto file = SocketFile::Prepare(path_);
  ASSERT_TRUE(file) << file.error().message;
  const Fd listener = Listen(file->bind_path());
  ASSERT_TRUE(file->Publish("no-such-group"));
  EXPECT_NE(Stat(path_).st_ino, before);
}

TEST_F(SocketFileTest, NeverTakesAwayWhatIsNoSocket) {
  std::filesystem::create_directory(root_ + "/run");
  std::ofstream(path_) << "precious";
  const auto file = SocketFile::Prepare(path_);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Code::kExists);
  EXPECT_TRUE(std::filesystem::is_regular_file(path_));
}

TEST_F(SocketFileTest, RemovesItsNameButNotThatOfASuccessor) {
  {
    auto file = SocketFile::Prepare(path_);
    ASSERT_TRUE(file);
    const Fd listener = Listen(file->bind_path());
    ASSERT_TRUE(file->Publish("no-such-group"));
  }
  EXPECT_EQ(Entries(), 0U);

  Fd successor;
  {
    auto file = SocketFile::Prepare(path_);
    ASSERT_TRUE(file);
    const Fd listener = Listen(file->bind_path());
    ASSERT_TRUE(file->Publish("no-such-group"));
    std::filesystem::rename(path_, path_ + ".old");
    successor = Listen(path_);
  }
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(SocketFileTest, RefusesAPathThatNoSocketCanHave) {
  EXPECT_EQ(SocketFile::Prepare("raild.sock").error().code, Code::kInvalid);
  EXPECT_EQ(SocketFile::Prepare("").error().code, Code::kInvalid);
  EXPECT_EQ(SocketFile::Prepare(root_ + "/" + std::string(120, 'x')).error().code, Code::kInvalid);
}

}  // namespace
}  // namespace rail
