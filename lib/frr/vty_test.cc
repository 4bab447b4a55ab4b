#include "lib/frr/vty.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace rail::frr {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Frame(const std::string& text, char status) {
  return text + std::string(3, '\0') + status;
}

TEST(ReplyDecoder, TakesAReplyWhole) {
  ReplyDecoder decoder;
  EXPECT_TRUE(*decoder.Feed(Frame("hello\n", 13)));
  EXPECT_EQ(decoder.status(), 13);
  EXPECT_EQ(decoder.TakeText(), "hello\n");
}

TEST(ReplyDecoder, TakesAReplyByteByByte) {
  ReplyDecoder decoder;
  const std::string frame = Frame("hello\n", 0);
  for (size_t i = 0; i < frame.size(); ++i)
    EXPECT_EQ(*decoder.Feed(frame.substr(i, 1)), i + 1 == frame.size()) << i;
  EXPECT_EQ(decoder.status(), 0);
  EXPECT_EQ(decoder.TakeText(), "hello\n");
}

TEST(ReplyDecoder, TakesAnEmptyReply) {
  ReplyDecoder decoder;
  EXPECT_FALSE(*decoder.Feed(""));
  EXPECT_TRUE(*decoder.Feed(Frame("", 2)));
  EXPECT_EQ(decoder.status(), 2);
}

TEST(ReplyDecoder, RefusesNulInTheText) {
  for (const std::string& frame : {std::string("a\0b", 3), std::string("a\0\0b", 4)}) {
    ReplyDecoder decoder;
    EXPECT_EQ(decoder.Feed(frame).error().code, Code::kInternal);
  }
}

TEST(ReplyDecoder, RefusesBytesAfterTheStatus) {
  ReplyDecoder decoder;
  EXPECT_EQ(decoder.Feed(Frame("a", 0) + "b").error().code, Code::kInternal);
  ReplyDecoder later;
  EXPECT_TRUE(*later.Feed(Frame("a", 0)));
  EXPECT_FALSE(later.Feed(std::string(1, '\0')));
}

TEST(ReplyDecoder, RefusesMoreThanItsLimit) {
  ReplyDecoder decoder(10);
  EXPECT_FALSE(*decoder.Feed("0123456789"));
  EXPECT_EQ(decoder.Feed("a").error().code, Code::kInternal);
  ReplyDecoder exact(10);
  EXPECT_TRUE(*exact.Feed(Frame("0123456789", 0)));
}

TEST(CheckLine, RefusesWhatTheDaemonWouldReadAsMoreThanOneLine) {
  EXPECT_TRUE(CheckLine("show bgp summary json"));
  EXPECT_TRUE(CheckLine(std::string(4000, 'a')));
  for (const std::string& line : {std::string(), std::string(4001, 'a'), std::string("a\nb"),
                                  std::string("a\0b", 3), std::string("a\tb"), std::string("\xc3\xa4")}) {
    EXPECT_EQ(CheckLine(line).error().code, Code::kInvalid) << line.size();
  }
}

TEST(CheckWord, RefusesWhatIsMoreThanOneWord) {
  for (const char* word : {"br-rail0", "eth0.100", "r@2"}) EXPECT_TRUE(CheckWord(word, "x")) << word;
  for (const char* word : {"", "a b", "a;b", "?", "-a", "!", "a\n", "a/b"})
    EXPECT_FALSE(CheckWord(word, "x")) << word;
  EXPECT_FALSE(CheckWord(std::string(64, 'a'), "x"));
}

// A daemon that gives one prepared answer to each line, in order, and then closes.
class Daemon {
 public:
  explicit Daemon(std::vector<std::string> answers) {
    char folder[] = "/tmp/rail-vty-XXXXXX";
    folder_ = ::mkdtemp(folder);
    path_ = folder_ + "/bgpd.vty";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    listener_.Reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    thread_ = std::thread([this, answers = std::move(answers)] { Serve(answers); });
  }
  ~Daemon() {
    Join();
    ::unlink(path_.c_str());
    ::rmdir(folder_.c_str());
  }
  const std::string& path() const { return path_; }
  std::vector<std::string> Join() {
    if (thread_.joinable()) {
      ::shutdown(listener_.get(), SHUT_RDWR);
      thread_.join();
    }
    return lines_;
  }

 private:
  void Serve(const std::vector<std::string>& answers) {
    const Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) return;
    for (const std::string& answer : answers) {
      std::string line;
      char c = 1;
      while (c != 0) {
        if (::read(client.get(), &c, 1) <= 0) return;
        if (c != 0) line += c;
      }
      lines_.push_back(line);
      if (::send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
    }
    char rest;
    if (stay_) (void)::read(client.get(), &rest, 1);
  }

  std::string folder_, path_;
  Fd listener_;
  std::thread thread_;
  std::vector<std::string> lines_;

 public:
  std::atomic<bool> stay_ = false;  // after the last answer: wait for the client to close instead of closing
};

const std::string kOk = Frame("", 0);

TEST(Vty, ShowsLargeTexts) {
  const std::string large(5 << 20, 'x');
  Daemon daemon({kOk, Frame(large, 0)});
  auto vty = Vty::Open(daemon.path(), After(seconds(10)));
  ASSERT_TRUE(vty) << vty.error().message;
  auto text = vty->Show("show all", After(seconds(10)));
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, large);
  EXPECT_THAT(daemon.Join(), ElementsAre("enable", "show all"));
}

TEST(Vty, TellsWarningsFromRefusals) {
  Daemon daemon({kOk, Frame("{}\n", 1), Frame("% [BGP] Unknown command: shw\n", 2)});
  auto vty = Vty::Open(daemon.path(), After(seconds(10)));
  ASSERT_TRUE(vty);
  EXPECT_EQ(vty->Show("show bgp summary json", After(seconds(10))).error().code, Code::kNotFound);
  const auto refused = vty->Show("shw", After(seconds(10)));
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_EQ(refused.error().message, "shw: [BGP] Unknown command: shw");
}

TEST(Vty, StopsConfiguringAtTheFirstRefusedLineAndLeavesTheNode) {
  Daemon daemon({kOk, kOk, kOk, Frame("% No such thing\n", 13), Frame("% Malformed\n", 13), kOk});
  auto vty = Vty::Open(daemon.path(), After(seconds(10)));
  ASSERT_TRUE(vty);
  const Status status = vty->Configure(
      {{"router bgp 1"}, {"no network 10.0.0.1/32", OnMissing::kAccept}, {"network x"}, {"never sent"}},
      After(seconds(10)));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kInvalid);
  EXPECT_EQ(status.error().message, "network x: Malformed");
  EXPECT_THAT(daemon.Join(), ElementsAre("enable", "configure terminal", "router bgp 1",
                                         "no network 10.0.0.1/32", "network x", "end"));
}

TEST(Vty, ConfiguresInOneRoundTrip) {
  // Nothing is answered before everything has been said.
  const std::string answers =
      kOk + kOk + Frame("% No such thing\n", 13) + Frame("% Malformed\n", 13) + kOk + kOk;
  Daemon daemon({kOk, "", "", "", "", "", answers, Frame("text", 0)});
  auto vty = Vty::Open(daemon.path(), After(seconds(10)));
  ASSERT_TRUE(vty);
  const Status status = vty->ConfigureAtOnce(
      {{"router bgp 1"}, {"no network 10.0.0.1/32", OnMissing::kAccept}, {"network x"}, {"network y"}},
      After(seconds(10)));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kInvalid);
  EXPECT_EQ(status.error().message, "network x: Malformed");
  EXPECT_EQ(*vty->Show("show next", After(seconds(10))), "text");
  EXPECT_THAT(daemon.Join(),
              ElementsAre("enable", "configure terminal", "router bgp 1", "no network 10.0.0.1/32",
                          "network x", "network y", "end", "show next"));
}

TEST(Vty, IsUnusableWhenItCannotLeaveTheConfigurationNode) {
  Daemon daemon({kOk, kOk, kOk, Frame("% Unknown command\n", 2)});
  auto vty = Vty::Open(daemon.path(), After(seconds(10)));
  ASSERT_TRUE(vty);
  EXPECT_EQ(vty->ConfigureAtOnce({{"router bgp 1"}}, After(seconds(10))).error().message,
            "end: Unknown command");
  EXPECT_EQ(vty->Show("show a", After(seconds(10))).error().code, Code::kTransient);
}

TEST(Vty, SendsNothingWhenALineIsMalformed) {
  Daemon daemon({kOk});
  {
    auto vty = Vty::Open(daemon.path(), After(seconds(10)));
    ASSERT_TRUE(vty);
    EXPECT_EQ(vty->Configure({{"router bgp 1"}, {"a\nb"}}, After(seconds(10))).error().code, Code::kInvalid);
    EXPECT_FALSE(vty->ConfigureAtOnce({{"router bgp 1"}, {"a\nb"}}, After(seconds(10))));
    EXPECT_TRUE(vty->Configure({}, After(seconds(10))));
    EXPECT_TRUE(vty->ConfigureAtOnce({}, After(seconds(10))));
  }
  EXPECT_THAT(daemon.Join(), ElementsAre("enable"));
}

TEST(Vty, IsUnusableAfterTheDaemonWentAway) {
  Daemon daemon({kOk, "half an ans"});
  auto vty = Vty::Open(daemon.path(), After(seconds(10)));
  ASSERT_TRUE(vty);
  EXPECT_EQ(vty->Show("show a", After(seconds(10))).error().code, Code::kTransient);
  const auto again = vty->Show("show b", After(seconds(10)));
  EXPECT_EQ(again.error().code, Code::kTransient);
  EXPECT_THAT(again.error().message, HasSubstr("open a new one"));
  EXPECT_THAT(daemon.Join(), ElementsAre("enable", "show a"));
}

TEST(Vty, IsUnusableAfterAnAnswerThatCameTooLate) {
  Daemon daemon({kOk, ""});
  daemon.stay_ = true;
  {
    auto vty = Vty::Open(daemon.path(), After(seconds(10)));
    ASSERT_TRUE(vty);
    EXPECT_EQ(vty->Show("show a", After(milliseconds(20))).error().code, Code::kTransient);
    EXPECT_EQ(vty->Show("show b", After(seconds(10))).error().code, Code::kTransient);
  }
  EXPECT_THAT(daemon.Join(), ElementsAre("enable", "show a"));
}

}  // namespace
}  // namespace rail::frr
