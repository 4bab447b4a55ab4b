#include "cmd/railctl/accept/keeper.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <future>

namespace rail::accept {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// A process that a signal reaches while its main thread waits for something else.
int StatusAfter(int signal) {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    BlockSignals();
    const auto keeper = Keeper::Start(hours(1), [] {}, [&] { (void)!::write(ends[1], "taken", 5); });
    if (!keeper) ::_exit(99);
    (void)!::write(ends[1], "kept ", 5);
    for (;;) ::pause();
  }
  ::close(ends[1]);
  const Fd said(ends[0]);
  char word[6] = {};
  EXPECT_EQ(::read(said.get(), word, 5), 5);
  EXPECT_STREQ(word, "kept ");
  ::kill(child, signal);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(::read(said.get(), word, 5), 5);
  EXPECT_STREQ(word, "taken") << "what was made is taken away before the process ends";
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Keeper, TakesAwayWhatWasMadeWhenASignalComes) {
  EXPECT_EQ(StatusAfter(SIGTERM), 128 + SIGTERM);
  EXPECT_EQ(StatusAfter(SIGINT), 128 + SIGINT);
}

TEST(Keeper, RenewsUntilItEnds) {
  std::promise<void> third;
  int renewed = 0;
  bool taken = false;
  {
    const auto keeper = Keeper::Start(
        milliseconds(1),
        [&] {
          if (++renewed == 3) third.set_value();
        },
        [&] { taken = true; });
    ASSERT_TRUE(keeper);
    third.get_future().wait();
  }
  const int at_end = renewed;
  EXPECT_GE(at_end, 3);
  EXPECT_FALSE(taken);
}

}  // namespace
}  // namespace rail::accept
