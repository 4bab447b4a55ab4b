#include "lib/event/wake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rail::event {
namespace {

using ::testing::HasSubstr;

class WakeTest : public ::testing::Test {
 protected:
  ~WakeTest() override { std::filesystem::remove_all(folder_); }
  static bool Readable(const WakeSocket& socket) {
    pollfd p{socket.fd(), POLLIN, 0};
    return ::poll(&p, 1, 0) == 1;
  }

  const std::string folder_ = ::testing::TempDir() + "railcni-wake-" + std::to_string(::getpid());
  const std::string path_ = folder_ + "/wake.sock";
};

TEST_F(WakeTest, AReportOfARunIsNoWakeup) {
  auto socket = WakeSocket::Bind(path_);
  ASSERT_TRUE(socket) << socket.error().message;
  EXPECT_TRUE(ReportRun(path_, {"ovs-provider", "ADD", std::chrono::microseconds(12345), true, {}}));
  Wakeups wakeups = socket->Drain();
  EXPECT_FALSE(wakeups.record_changed);
  ASSERT_EQ(wakeups.runs.size(), 1U);
  EXPECT_TRUE(ToText(wakeups.runs[0]).starts_with("ADD ovs-provider 12345 failed record=0 "));
  EXPECT_TRUE(ReportRun(path_, {"frr-provider", "DEL", std::chrono::microseconds(1), false, {}}));
  EXPECT_TRUE(Wake(path_));
  wakeups = socket->Drain();
  EXPECT_TRUE(wakeups.record_changed);
  EXPECT_EQ(wakeups.runs.size(), 1U);
  wakeups = socket->Drain();
  EXPECT_FALSE(wakeups.record_changed);
  EXPECT_TRUE(wakeups.runs.empty());
}

TEST_F(WakeTest, KnowsWhetherSomebodyListens) {
  EXPECT_FALSE(WakeSocket::IsServed(path_));
  {
    auto socket = WakeSocket::Bind(path_);
    ASSERT_TRUE(socket) << socket.error().message;
    EXPECT_TRUE(WakeSocket::IsServed(path_));
    EXPECT_FALSE(socket->Drain().record_changed) << "the question wakes nobody";
    std::filesystem::rename(path_, path_ + "-kept");
  }
  std::filesystem::rename(path_ + "-kept", path_);
  EXPECT_FALSE(WakeSocket::IsServed(path_)) << "a dead daemon's";
  EXPECT_FALSE(WakeSocket::IsServed(std::string(200, 'x')));
}

TEST_F(WakeTest, AWakeupThatMayHaveFoundNoRoomCounts) {
  auto socket = WakeSocket::Bind(path_);
  ASSERT_TRUE(socket) << socket.error().message;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(ReportRun(path_, {"ovs-provider", "ADD", {}, false, {}}));
  EXPECT_TRUE(Wake(path_));
  EXPECT_TRUE(socket->Drain().record_changed);
}

TEST(PodFailureTest, IsReadAsItWasWritten) {
  const PodFailure failure{"tenant-isolation", "ns-a", "train-0", "u-1", "no list: try \"again\"\nlater"};
  const auto read = ParsePodFailure(ToText(failure));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->plugin, failure.plugin);
  EXPECT_EQ(read->pod_namespace, failure.pod_namespace);
  EXPECT_EQ(read->pod_name, failure.pod_name);
  EXPECT_EQ(read->pod_uid, failure.pod_uid);
  EXPECT_EQ(read->why, failure.why);
  EXPECT_FALSE(ParsePluginRun(ToText(failure)));
}

TEST(PodFailureTest, HasNamesOfKubernetesAndALimit) {
  EXPECT_EQ(ToText(PodFailure{"p", "", "n", "u", "why"}), "");
  EXPECT_EQ(ToText(PodFailure{"p", "a b", "n", "u", "why"}), "");
  EXPECT_EQ(ToText(PodFailure{"p", "ns", "n\n", "u", "why"}), "");
  const auto cut = ParsePodFailure(ToText(PodFailure{"p", "ns", "n", "u", std::string(5000, 'x')}));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->why.size(), PodFailure::kMostWhy);
  for (const char* text : {"", "!pod ", "!pod a b c", "!pod a b c d", "!pod a  c d why", "pod a b c d why"})
    EXPECT_FALSE(ParsePodFailure(text)) << text;
}

TEST(ParsePluginRun, TakesNothingElse) {
  PluginRun ran{"frr-provider", "DEL", std::chrono::microseconds(40), false, {}};
  for (size_t i = 0; i < ran.parts.size(); ++i) ran.parts[i] = std::chrono::microseconds(i + 1);
  const std::string parts = " record=1 ovsdb=2 openflow=3 ipam=4 bgp=5 link=6 pod=7 other=8";
  EXPECT_EQ(ToText(ran), "DEL frr-provider 40 done" + parts);
  EXPECT_EQ(ToText(*ParsePluginRun(ToText(ran))), ToText(ran));
  // The longest that a plugin may say arrives whole.
  std::ranges::fill(ran.parts, std::chrono::microseconds(UINT32_MAX));
  ran = {"tenant-isolation", "VERSION", std::chrono::microseconds(UINT32_MAX), true, ran.parts};
  EXPECT_EQ(ParsePluginRun(ToText(ran))->parts, ran.parts);
  EXPECT_LE(ToText(ran).size(), 256U);
  for (const char* text :
       {"DEL frr-provider 7 maybe", "DEL frr-provider -1 done", "DEL frr-provider 4294967296 done",
        "DEL frr-provider 7 done ", "del frr-provider 7 done", "DEL \"x 7 done", "DEL  7 done",
        "DEL frr-provider 7s done"}) {
    EXPECT_FALSE(ParsePluginRun(text + parts)) << text;
  }
  const std::string whole = ToText(*ParsePluginRun("DEL frr-provider 7 done" + parts));
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(ParsePluginRun(whole.substr(0, length)));
  for (const char* more : {"x", " x", " more=1"}) EXPECT_FALSE(ParsePluginRun(whole + more)) << more;
}

TEST_F(WakeTest, IsSeenUntilDrained) {
  auto socket = WakeSocket::Bind(path_);
  ASSERT_TRUE(socket) << socket.error().message;
  EXPECT_FALSE(Readable(*socket));
  EXPECT_TRUE(Wake(path_));
  EXPECT_TRUE(Wake(path_));
  EXPECT_TRUE(Readable(*socket));
  EXPECT_TRUE(socket->Drain().record_changed);
  EXPECT_FALSE(Readable(*socket));
  EXPECT_FALSE(socket->Drain().record_changed);  // nothing there: returns
  EXPECT_TRUE(Wake(path_));
  EXPECT_TRUE(Readable(*socket));
}

TEST_F(WakeTest, IsSuccessWithoutADaemon) {
  EXPECT_TRUE(Wake(path_));
}

TEST_F(WakeTest, IsSuccessWhenTheDaemonDied) {
  const std::string link = path_ + ".left";
  {
    auto socket = WakeSocket::Bind(path_);
    ASSERT_TRUE(socket);
    std::filesystem::create_hard_link(path_, link);
  }
  EXPECT_FALSE(std::filesystem::exists(path_)) << "the socket goes with its owner";
  EXPECT_TRUE(Wake(link));
}

TEST_F(WakeTest, IsSuccessAndDoesNotWaitWhenTheQueueIsFull) {
  auto socket = WakeSocket::Bind(path_);
  ASSERT_TRUE(socket);
  for (int i = 0; i < 10000; ++i) ASSERT_TRUE(Wake(path_)) << i;
  EXPECT_TRUE(Readable(*socket));
}

TEST_F(WakeTest, IsAnErrorOnAPathThatIsTooLong) {
  const auto woken = Wake("/" + std::string(107, 'x'));
  ASSERT_FALSE(woken);
  EXPECT_EQ(woken.error().code, Code::kInvalid);
}

TEST_F(WakeTest, SocketIsForOwnerAndGroup) {
  const mode_t umask = ::umask(0);
  auto socket = WakeSocket::Bind(path_);
  ::umask(umask);
  ASSERT_TRUE(socket);
  struct stat file{};
  ASSERT_EQ(::stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0660U);
}

TEST_F(WakeTest, SocketOfADeadDaemonIsReplaced) {
  const std::string link = path_ + ".left";
  {
    auto dead = WakeSocket::Bind(path_);
    ASSERT_TRUE(dead);
    std::filesystem::create_hard_link(path_, link);
  }
  std::filesystem::rename(link, path_);
  auto socket = WakeSocket::Bind(path_);
  ASSERT_TRUE(socket) << socket.error().message;
  EXPECT_TRUE(Wake(path_));
  EXPECT_TRUE(Readable(*socket));
}

TEST_F(WakeTest, SocketOfALivingDaemonIsNotTaken) {
  auto first = WakeSocket::Bind(path_);
  ASSERT_TRUE(first);
  const auto second = WakeSocket::Bind(path_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kExists);
  EXPECT_THAT(second.error().message, HasSubstr(path_));
  EXPECT_TRUE(Wake(path_));
  EXPECT_TRUE(Readable(*first));
}

TEST_F(WakeTest, SomethingElseInItsPlaceIsKept) {
  std::filesystem::create_directories(folder_);
  std::ofstream(path_) << "precious";
  const auto socket = WakeSocket::Bind(path_);
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().code, Code::kExists);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace rail::event
