#include "lib/event/file_watch.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rail::event {
namespace {

namespace fs = std::filesystem;

class FileWatchTest : public testing::Test {
 protected:
  FileWatchTest() {
    std::string pattern = testing::TempDir() + "/watchXXXXXX";
    folder = ::mkdtemp(pattern.data());
    Write("node.json", "before");
    auto opened = FileWatch::Open(Path("node.json"));
    EXPECT_TRUE(opened) << opened.error().message;
    if (opened) watch.emplace(std::move(*opened));
  }
  ~FileWatchTest() override { fs::remove_all(folder); }

  std::string Path(const std::string& name) const { return folder + "/" + name; }
  void Write(const std::string& name, const std::string& text) { std::ofstream(Path(name)) << text; }
  bool Readable() const {
    pollfd descriptor{watch->fd(), POLLIN, 0};
    return ::poll(&descriptor, 1, 0) == 1;
  }

  std::string folder;
  std::optional<FileWatch> watch;
};

TEST_F(FileWatchTest, TellsOfAFileThatIsWritten) {
  EXPECT_FALSE(Readable());
  EXPECT_FALSE(watch->Drain());
  Write("node.json", "after");
  EXPECT_TRUE(Readable());
  EXPECT_TRUE(watch->Drain());
  EXPECT_FALSE(watch->Drain()) << "once";
}

TEST_F(FileWatchTest, WaitsForTheWriterToClose) {
  std::ofstream half(Path("node.json"));
  half << "{";
  half.flush();
  EXPECT_FALSE(watch->Drain());
  half.close();
  EXPECT_TRUE(watch->Drain());
}

TEST_F(FileWatchTest, TellsOfAFileThatIsReplacedAgainAndAgain) {
  for (int i = 0; i < 3; ++i) {
    Write(".new", "after");
    EXPECT_FALSE(watch->Drain()) << "another file of the folder";
    fs::rename(Path(".new"), Path("node.json"));
    EXPECT_TRUE(watch->Drain());
  }
}

TEST_F(FileWatchTest, TellsOfAFileThatGoesAndComesBack) {
  fs::remove(Path("node.json"));
  EXPECT_TRUE(watch->Drain());
  Write("node.json", "again");
  EXPECT_TRUE(watch->Drain());
  fs::rename(Path("node.json"), Path("elsewhere"));
  EXPECT_TRUE(watch->Drain());
}

TEST_F(FileWatchTest, TellsOfASocketThatIsMadeAndMadeAnew) {
  auto opened = FileWatch::OpenForSocket(Path("some.sock"));
  ASSERT_TRUE(opened) << opened.error().message;
  for (int i = 0; i < 2; ++i) {
    const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    Path("some.sock").copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ::close(made);
    EXPECT_TRUE(opened->Drain());
    fs::remove(Path("some.sock"));
    EXPECT_TRUE(opened->Drain());
  }
  EXPECT_FALSE(watch->Drain()) << "another file of the folder";
}

TEST_F(FileWatchTest, TellsWhenItsFolderGoes) {
  fs::remove_all(folder);
  EXPECT_TRUE(watch->Drain());
}

TEST_F(FileWatchTest, NeedsAnAbsolutePathInAFolderThatIsThere) {
  EXPECT_EQ(FileWatch::Open("node.json").error().code, Code::kInvalid);
  EXPECT_EQ(FileWatch::Open("/etc/").error().code, Code::kInvalid);
  EXPECT_EQ(FileWatch::Open(Path("none/node.json")).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace rail::event
