#include "cmd/raild/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/engine/attach/verb_context.h"

namespace rail::raild {
namespace {

using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

// Stands for systemd: a datagram socket with an abstract name, and the environment that leads to it.
class Manager {
 public:
  explicit Manager(const std::string& watchdog_usec)
      : name_("@railcni-watchdog-" + std::to_string(::getpid())),
        fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name_.data() + 1, name_.size() - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    ::setenv("NOTIFY_SOCKET", name_.c_str(), 1);
    if (!watchdog_usec.empty()) ::setenv("WATCHDOG_USEC", watchdog_usec.c_str(), 1);
  }
  ~Manager() {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) ::unsetenv(name);
  }
  std::vector<std::string> Heard() {
    std::vector<std::string> heard;
    char text[256];
    for (;;) {
      const ssize_t n = ::recv(fd_.get(), text, sizeof text, MSG_DONTWAIT);
      if (n < 0) return heard;
      heard.emplace_back(text, static_cast<size_t>(n));
    }
  }

 private:
  std::string name_;
  Fd fd_;
};

std::unique_ptr<event::Loop> MakeLoop() {
  return *event::Loop::Open();
}

TEST(Supervisor, TellsNobodyWhenNobodyHasStartedIt) {
  ::unsetenv("NOTIFY_SOCKET");
  const Supervisor supervisor = Supervisor::FromEnvironment();
  supervisor.Tell("READY=1");
  EXPECT_FALSE(supervisor.watchdog());
}

TEST(Supervisor, TakesItsVariablesOutOfTheEnvironment) {
  Manager manager("2000000");
  const Supervisor supervisor = Supervisor::FromEnvironment();
  EXPECT_EQ(supervisor.watchdog(), std::chrono::seconds(2));
  EXPECT_EQ(::getenv("NOTIFY_SOCKET"), nullptr);
  EXPECT_EQ(::getenv("WATCHDOG_USEC"), nullptr);
  supervisor.Tell("STOPPING=1");
  EXPECT_THAT(manager.Heard(), ElementsAre("STOPPING=1"));
}

TEST(Supervisor, AWatchdogOfAnotherProcessIsNotOurs) {
  Manager manager("2000000");
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_FALSE(Supervisor::FromEnvironment().watchdog());
}

// Parts whose loops run on threads of their own, and a watchdog that is driven step by step.
class WatchdogTest : public ::testing::Test {
 protected:
  static constexpr milliseconds kShort{200};

  struct Part {
    explicit Part(const char* its_name) : name(its_name) {}
    ~Part() {
      loop->Stop();
      if (thread.joinable()) thread.join();
    }
    void Run() {
      thread = std::thread([this] { loop->Run(); });
    }
    const char* name;
    std::unique_ptr<event::Loop> loop = MakeLoop();
    Pulse pulse;
    std::thread thread;
  };

  // Returns when the watchdog has said something new, which is the last of told_.
  void AwaitNews() {
    const size_t before = told_.size();
    const event::TimerId never = loop_->After(std::chrono::seconds(20), [this] { loop_->Stop(); });
    loop_->Run();
    loop_->Cancel(never);
    ASSERT_EQ(told_.size(), before + 1);
  }
  std::vector<std::string> HeardFor(Manager& manager, milliseconds time) {
    (void)manager.Heard();
    loop_->After(time, [this] { loop_->Stop(); });
    loop_->Run();
    return manager.Heard();
  }
  Watchdog Make(const Supervisor& supervisor, Clock::duration grace = kShort) {
    return Watchdog(
        *loop_, supervisor,
        [this](const Health& health) {
          told_.push_back(health);
          loop_->Stop();
        },
        [this] { return waits_for_; }, grace);
  }

  const std::unique_ptr<event::Loop> loop_ = MakeLoop();
  std::vector<Health> told_;
  std::string waits_for_;
  Part one_{"Open vSwitch"}, two_{"bgpd"};
};

TEST_F(WatchdogTest, IsReadyWhenEveryPartHasDoneWhatItWasGivenFirst) {
  Manager manager("");
  const Supervisor supervisor = Supervisor::FromEnvironment();
  Watchdog watchdog = Make(supervisor, std::chrono::seconds(20));
  watchdog.Add(one_.name, *one_.loop);
  watchdog.Add(two_.name, *two_.loop);
  std::atomic<bool> first = false;
  two_.loop->Post([&] { first = true; });
  watchdog.Begin();
  one_.Run();
  EXPECT_THAT(HeardFor(manager, milliseconds(50)), Not(Contains("READY=1")))
      << "the other part has not answered";
  two_.Run();
  AwaitNews();
  EXPECT_TRUE(first);
  EXPECT_EQ(told_.back(), (Health{.started = true, .waits_for = "", .hung = ""}));
  EXPECT_THAT(manager.Heard(), Contains("READY=1"));
}

TEST_F(WatchdogTest, SaysWhichPartHangsAndWhenItWorksAgain) {
  Manager manager("40000");
  const Supervisor supervisor = Supervisor::FromEnvironment();
  Watchdog watchdog = Make(supervisor);
  watchdog.Add(one_.name, *one_.loop);
  watchdog.Add(two_.name, *two_.loop);
  std::mutex round;
  one_.Run();
  two_.Run();
  watchdog.Begin();
  AwaitNews();
  EXPECT_EQ(told_.back(), (Health{.started = true, .waits_for = "", .hung = ""}));
  EXPECT_THAT(HeardFor(manager, milliseconds(100)), Contains("WATCHDOG=1"));
  round.lock();
  two_.loop->Post([&] { const std::lock_guard hang(round); });
  AwaitNews();
  EXPECT_TRUE(told_.back().ready());
  EXPECT_THAT(told_.back().hung, ::testing::HasSubstr("raild's thread for bgpd"));
  EXPECT_THAT(HeardFor(manager, milliseconds(100)), IsEmpty()) << "systemd is left to act";
  round.unlock();
  AwaitNews();
  EXPECT_EQ(told_.back(), (Health{.started = true, .waits_for = "", .hung = ""}));
  EXPECT_THAT(HeardFor(manager, milliseconds(100)), Contains("WATCHDOG=1"));
}

// systemd would restart a raild that is not READY in time, over and over.
TEST_F(WatchdogTest, RailsKeepItUnreadyAndSystemdOutOfIt) {
  Manager manager("");
  const Supervisor supervisor = Supervisor::FromEnvironment();
  Watchdog watchdog = Make(supervisor);
  watchdog.Add(one_.name, *one_.loop);
  waits_for_ = "rail rail0 has no carrier";
  one_.Run();
  watchdog.Begin();
  AwaitNews();
  EXPECT_EQ(told_.back().waits_for, "rail rail0 has no carrier");
  EXPECT_FALSE(told_.back().ready());
  EXPECT_THAT(manager.Heard(), Contains("READY=1"));
  waits_for_ = "";
  AwaitNews();
  EXPECT_TRUE(told_.back().ready());
}

// The first installation of many rules on many rails takes longer than any one of them may.
TEST_F(WatchdogTest, ARoundOfManyStepsIsNotTakenForAHang) {
  Manager manager("");
  const Supervisor supervisor = Supervisor::FromEnvironment();
  constexpr milliseconds kLimit{1500};
  Watchdog watchdog = Make(supervisor, kLimit);
  watchdog.Add(one_.name, *one_.loop, &one_.pulse);
  one_.loop->Post([&] {
    for (int rail = 0; rail < 12; ++rail) {
      std::this_thread::sleep_for(kLimit / 10);
      one_.pulse.Beat();
    }
  });
  watchdog.Begin();
  one_.Run();
  AwaitNews();
  EXPECT_EQ(told_.back(), (Health{.started = true, .waits_for = "", .hung = ""})) << "the first that it says";
}

TEST_F(WatchdogTest, TheGraceIsLongerThanTheLongestStep) {
  EXPECT_GE(kLongestStep, 2 * engine::kRoundLimit)
      << "bgpd's part may use the limit twice, when a carrier is back";
  EXPECT_GE(kGrace, 2 * kLongestStep);
}

}  // namespace
}  // namespace rail::raild
