#include "lib/poke/poke.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rail::poke {
namespace {

using ::testing::HasSubstr;

class PokeTest : public ::testing::Test {
 protected:
  ~PokeTest() override { std::filesystem::remove_all(folder_); }
  static bool Readable(const PokeSocket& socket) {
    pollfd p{socket.fd(), POLLIN, 0};
    return ::poll(&p, 1, 0) == 1;
  }

  const std::string folder_ = ::testing::TempDir() + "railcni-poke-" + std::to_string(::getpid());
  const std::string path_ = folder_ + "/poke.sock";
};

TEST_F(PokeTest, WhatAPluginTellsIsNoPoke) {
  auto socket = PokeSocket::Bind(path_);
  ASSERT_TRUE(socket) << socket.error().message;
  EXPECT_TRUE(Tell(path_, {"ovs-provider", "ADD", std::chrono::microseconds(12345), true, {}}));
  News news = socket->Drain();
  EXPECT_FALSE(news.changed);
  ASSERT_EQ(news.ran.size(), 1U);
  EXPECT_TRUE(ToText(news.ran[0]).starts_with("ADD ovs-provider 12345 failed record=0 "));
  EXPECT_TRUE(Tell(path_, {"frr-provider", "DEL", std::chrono::microseconds(1), false, {}}));
  EXPECT_TRUE(Poke(path_));
  news = socket->Drain();
  EXPECT_TRUE(news.changed);
  EXPECT_EQ(news.ran.size(), 1U);
  news = socket->Drain();
  EXPECT_FALSE(news.changed);
  EXPECT_TRUE(news.ran.empty());
}

TEST_F(PokeTest, APokeThatMayHaveFoundNoRoomCounts) {
  auto socket = PokeSocket::Bind(path_);
  ASSERT_TRUE(socket) << socket.error().message;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(Tell(path_, {"ovs-provider", "ADD", {}, false, {}}));
  EXPECT_TRUE(Poke(path_));
  EXPECT_TRUE(socket->Drain().changed);
}

TEST(ParseRan, TakesNothingElse) {
  Ran ran{"frr-provider", "DEL", std::chrono::microseconds(40), false, {}};
  for (size_t i = 0; i < ran.parts.size(); ++i) ran.parts[i] = std::chrono::microseconds(i + 1);
  const std::string parts = " record=1 ovsdb=2 openflow=3 ipam=4 bgp=5 link=6 pod=7 other=8";
  EXPECT_EQ(ToText(ran), "DEL frr-provider 40 done" + parts);
  EXPECT_EQ(ToText(*ParseRan(ToText(ran))), ToText(ran));
  // The longest that a plugin may say arrives whole.
  std::ranges::fill(ran.parts, std::chrono::microseconds(UINT32_MAX));
  ran = {"tenant-isolation", "VERSION", std::chrono::microseconds(UINT32_MAX), true, ran.parts};
  EXPECT_EQ(ParseRan(ToText(ran))->parts, ran.parts);
  EXPECT_LE(ToText(ran).size(), 256U);
  for (const char* text :
       {"DEL frr-provider 7 maybe", "DEL frr-provider -1 done", "DEL frr-provider 4294967296 done",
        "DEL frr-provider 7 done ", "del frr-provider 7 done", "DEL \"x 7 done", "DEL  7 done",
        "DEL frr-provider 7s done"}) {
    EXPECT_FALSE(ParseRan(text + parts)) << text;
  }
  const std::string whole = ToText(*ParseRan("DEL frr-provider 7 done" + parts));
  for (size_t length = 0; length < whole.size(); ++length) EXPECT_FALSE(ParseRan(whole.substr(0, length)));
  for (const char* more : {"x", " x", " more=1"}) EXPECT_FALSE(ParseRan(whole + more)) << more;
}

TEST_F(PokeTest, IsSeenUntilDrained) {
  auto socket = PokeSocket::Bind(path_);
  ASSERT_TRUE(socket) << socket.error().message;
  EXPECT_FALSE(Readable(*socket));
  EXPECT_TRUE(Poke(path_));
  EXPECT_TRUE(Poke(path_));
  EXPECT_TRUE(Readable(*socket));
  EXPECT_TRUE(socket->Drain().changed);
  EXPECT_FALSE(Readable(*socket));
  EXPECT_FALSE(socket->Drain().changed);  // nothing there: returns
  EXPECT_TRUE(Poke(path_));
  EXPECT_TRUE(Readable(*socket));
}

TEST_F(PokeTest, IsSuccessWithoutADaemon) {
  EXPECT_TRUE(Poke(path_));
}

TEST_F(PokeTest, IsSuccessWhenTheDaemonDied) {
  const std::string link = path_ + ".left";
  {
    auto socket = PokeSocket::Bind(path_);
    ASSERT_TRUE(socket);
    std::filesystem::create_hard_link(path_, link);
  }
  EXPECT_FALSE(std::filesystem::exists(path_)) << "the socket goes with its owner";
  EXPECT_TRUE(Poke(link));
}

TEST_F(PokeTest, IsSuccessAndDoesNotWaitWhenTheQueueIsFull) {
  auto socket = PokeSocket::Bind(path_);
  ASSERT_TRUE(socket);
  for (int i = 0; i < 10000; ++i) ASSERT_TRUE(Poke(path_)) << i;
  EXPECT_TRUE(Readable(*socket));
}

TEST_F(PokeTest, IsAnErrorOnAPathThatIsTooLong) {
  const auto poked = Poke("/" + std::string(107, 'x'));
  ASSERT_FALSE(poked);
  EXPECT_EQ(poked.error().code, Code::kInvalid);
}

TEST_F(PokeTest, SocketIsForOwnerAndGroup) {
  const mode_t umask = ::umask(0);
  auto socket = PokeSocket::Bind(path_);
  ::umask(umask);
  ASSERT_TRUE(socket);
  struct stat file{};
  ASSERT_EQ(::stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0660U);
}

TEST_F(PokeTest, SocketOfADeadDaemonIsReplaced) {
  const std::string link = path_ + ".left";
  {
    auto dead = PokeSocket::Bind(path_);
    ASSERT_TRUE(dead);
    std::filesystem::create_hard_link(path_, link);
  }
  std::filesystem::rename(link, path_);
  auto socket = PokeSocket::Bind(path_);
  ASSERT_TRUE(socket) << socket.error().message;
  EXPECT_TRUE(Poke(path_));
  EXPECT_TRUE(Readable(*socket));
}

TEST_F(PokeTest, SocketOfALivingDaemonIsNotTaken) {
  auto first = PokeSocket::Bind(path_);
  ASSERT_TRUE(first);
  const auto second = PokeSocket::Bind(path_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kExists);
  EXPECT_THAT(second.error().message, HasSubstr(path_));
  EXPECT_TRUE(Poke(path_));
  EXPECT_TRUE(Readable(*first));
}

TEST_F(PokeTest, SomethingElseInItsPlaceIsKept) {
  std::filesystem::create_directories(folder_);
  std::ofstream(path_) << "precious";
  const auto socket = PokeSocket::Bind(path_);
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().code, Code::kExists);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace rail::poke
