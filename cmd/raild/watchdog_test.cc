#include "cmd/raild/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "lib/base/clock.h"
#include "lib/base/fd.h"

namespace rail::raild {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

TEST(Watchdog, IsReadyWhenEveryPartHasDoneWhatItWasGivenFirst) {
  Manager manager("");
  const Supervisor supervisor = Supervisor::FromEnvironment();
  const auto loop = MakeLoop(), one = MakeLoop(), two = MakeLoop();
  Watchdog watchdog(*loop, supervisor);
  watchdog.Add(*one);
  watchdog.Add(*two);
  bool first = false;
  one->Post([&] { first = true; });
  one->Post([&] { one->Stop(); });
  watchdog.Begin();
  one->Run();
  EXPECT_TRUE(first);
  one->Post([&] { one->Stop(); });
  one->Run();
  loop->Post([&] { loop->Stop(); });
  loop->Run();
  EXPECT_THAT(manager.Heard(), IsEmpty()) << "the other part has not answered";
  two->Post([&] { two->Stop(); });
  two->Run();
  loop->Post([&] { loop->Stop(); });
  loop->Run();
  EXPECT_THAT(manager.Heard(), ElementsAre("READY=1", "WATCHDOG=1"));
}

TEST(Watchdog, StopsWithAPartThatHangs) {
  Manager manager("40000");
  const Supervisor supervisor = Supervisor::FromEnvironment();
  const auto loop = MakeLoop(), part = MakeLoop();
  Watchdog watchdog(*loop, supervisor);
  watchdog.Add(*part);
  watchdog.Begin();
  std::thread thread([&] { part->Run(); });
  const auto run = [&](milliseconds time) {
    loop->After(time, [&] { loop->Stop(); });
    loop->Run();
    return manager.Heard();
  };
  std::vector<std::string> heard;
  for (const Deadline deadline = After(std::chrono::seconds(20));
       heard.size() < 4 && Clock::now() < deadline;) {
    for (auto& text : run(milliseconds(20))) heard.push_back(std::move(text));
  }
  EXPECT_GE(heard.size(), 4U);
  part->Stop();
  thread.join();
  run(milliseconds(30));  // an answer that was on its way
  EXPECT_THAT(run(milliseconds(100)), IsEmpty());
}

}  // namespace
}  // namespace rail::raild
