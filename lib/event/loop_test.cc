#include "lib/event/loop.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>

#include "lib/base/fd.h"

namespace rail::event {
namespace {

using std::chrono::milliseconds;

class LoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto loop = Loop::Open();
    ASSERT_TRUE(loop) << loop.error().message;
    loop_ = std::move(*loop);
    // A broken test ends with a message instead of hanging.
    loop_->After(std::chrono::seconds(20), [this] {
      ADD_FAILURE() << "nothing happened for 20 s";
      loop_->Stop();
    });
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    out_ = Fd(ends[0]);
    in_ = Fd(ends[1]);
  }

  void Send(std::string_view text) {
    ASSERT_EQ(::write(in_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  char Take() {
    char c = 0;
    return ::read(out_.get(), &c, 1) == 1 ? c : '\0';
  }

  std::unique_ptr<Loop> loop_;
  Fd out_;
  Fd in_;
};

TEST_F(LoopTest, CallsWhileADescriptorIsReadable) {
  std::string got;
  ASSERT_TRUE(loop_->Watch(out_.get(), [&] {
    got += Take();  // one byte at a time: what is left must be told again
    if (got.size() == 3) loop_->Stop();
  }));
  Send("abc");
  loop_->Run();
  EXPECT_EQ(got, "abc");
}

TEST_F(LoopTest, CallsForWhatArrivesLater) {
  std::string got;
  ASSERT_TRUE(loop_->Watch(out_.get(), [&] {
    got += Take();
    if (got.size() < 3) Send("x");
    if (got.size() == 3) loop_->Stop();
  }));
  loop_->After(milliseconds(1), [&] { Send("a"); });
  loop_->Run();
  EXPECT_EQ(got, "axx");
}

TEST_F(LoopTest, CallsWhenTheOtherSideCloses) {
  bool closed = false;
  ASSERT_TRUE(loop_->Watch(out_.get(), [&] {
    closed = Take() == '\0';
    loop_->Unwatch(out_.get());
    loop_->Stop();
  }));
  in_.Reset();
  loop_->Run();
  EXPECT_TRUE(closed);
}

TEST_F(LoopTest, UnwatchStopsACallThatIsDue) {
  int calls = 0;
  ASSERT_TRUE(loop_->Watch(out_.get(), [&] { ++calls; }));
  Send("a");
  loop_->Unwatch(out_.get());
  loop_->After(milliseconds(20), [&] { loop_->Stop(); });
  loop_->Run();
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(Take(), 'a') << "the descriptor stays its owner's, open";
}

TEST_F(LoopTest, ADescriptorCanBeWatchedAgainAndItsNumberReused) {
  ASSERT_TRUE(loop_->Watch(out_.get(), [&] { ADD_FAILURE() << "the first watch is gone"; }));
  EXPECT_EQ(loop_->Watch(out_.get(), [] {}).error().code, Code::kExists);
  const int number = out_.get();
  loop_->Unwatch(number);
  out_.Reset();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  out_ = Fd(ends[0]);
  in_ = Fd(ends[1]);
  ASSERT_EQ(out_.get(), number) << "the lowest free number is given";
  ASSERT_TRUE(loop_->Watch(number, [&] { loop_->Stop(); }));
  Send("a");
  loop_->Run();
}

TEST_F(LoopTest, WatchingARegularFileIsAnError) {
  const Fd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const auto watched = loop_->Watch(file.get(), [] {});
  ASSERT_FALSE(watched);
  EXPECT_EQ(watched.error().code, Code::kInvalid);
  EXPECT_NE(::fcntl(file.get(), F_GETFD), -1) << "a refused descriptor stays open";
}

TEST_F(LoopTest, WatchedDescriptorsOutliveTheLoop) {
  ASSERT_TRUE(loop_->Watch(out_.get(), [] {}));
  loop_.reset();
  Send("a");
  EXPECT_EQ(Take(), 'a');
}

TEST_F(LoopTest, TimersRunInTheOrderOfTheirTime) {
  std::string order;
  const auto start = std::chrono::steady_clock::now();
  loop_->After(milliseconds(100), [&] {
    order += 'b';
    loop_->Stop();
  });
  loop_->After(milliseconds(1), [&] { order += 'a'; });
  loop_->Run();
  EXPECT_EQ(order, "ab");
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(100));
}

TEST_F(LoopTest, ACancelledTimerDoesNotRun) {
  int calls = 0;
  TimerId second = 0;
  // Both are due in one round: the first takes the second back.
  loop_->After(milliseconds(0), [&] { loop_->Cancel(second); });
  second = loop_->After(milliseconds(0), [&] { ++calls; });
  loop_->After(milliseconds(10), [&] { loop_->Stop(); });
  loop_->Run();
  loop_->Cancel(second);
  EXPECT_EQ(calls, 0);
}

TEST_F(LoopTest, EveryRunsUntilItIsCancelledEvenByItself) {
  int calls = 0;
  TimerId every = 0;
  every = loop_->Every(milliseconds(1), [&] {
    if (++calls < 3) return;
    loop_->Cancel(every);
    loop_->After(milliseconds(10), [&] { loop_->Stop(); });
  });
  loop_->Run();
  EXPECT_EQ(calls, 3);
}

TEST_F(LoopTest, PostRunsOnTheLoopsThreadInOrder) {
  std::string order;
  std::thread::id where;
  std::thread other([&] {
    loop_->Post([&] { order += 'a'; });
    loop_->Post([&] {
      order += 'b';
      where = std::this_thread::get_id();
      loop_->Stop();
    });
  });
  loop_->Run();
  other.join();
  EXPECT_EQ(order, "ab");
  EXPECT_EQ(where, std::this_thread::get_id());
}

TEST_F(LoopTest, StopsFromAnotherThreadAndRunsAgain) {
  std::thread other([&] { loop_->Stop(); });
  loop_->Run();
  other.join();
  bool again = false;
  loop_->Post([&] {
    again = true;
    loop_->Stop();
  });
  loop_->Run();
  EXPECT_TRUE(again);
}

TEST_F(LoopTest, RunReadyCallsForWhatIsReadyAndReturns) {
  std::string got;
  ASSERT_TRUE(loop_->Watch(out_.get(), [&] { got += Take(); }));
  loop_->RunReady();
  EXPECT_EQ(got, "") << "nothing is ready";
  Send("a");
  loop_->Post([&] { got += 'p'; });
  loop_->RunReady();
  EXPECT_THAT(got, testing::UnorderedElementsAre('a', 'p'));
}

TEST_F(LoopTest, RunReadyCallsForASignalThatHasCome) {
  int calls = 0;
  ASSERT_TRUE(loop_->OnSignal({SIGTERM}, [&] { ++calls; }));
  ::raise(SIGTERM);
  loop_->RunReady();
  EXPECT_EQ(calls, 1);
}

TEST_F(LoopTest, RunReadyReturnsWhileADescriptorStaysReadable) {
  int calls = 0;
  ASSERT_TRUE(loop_->Watch(out_.get(), [&] { ++calls; }));
  Send("a");
  loop_->RunReady();
  EXPECT_GE(calls, 1);
  EXPECT_EQ(Take(), 'a');
}

TEST_F(LoopTest, ARunReadyThatACallbackStopsEndsNoLaterRun) {
  loop_->Post([&] { loop_->Stop(); });
  loop_->RunReady();
  bool ran = false;
  loop_->After(milliseconds(20), [&] {
    ran = true;
    loop_->Stop();
  });
  loop_->Run();
  EXPECT_TRUE(ran);
}

TEST_F(LoopTest, CallsForEachSignal) {
  std::string got;
  ASSERT_TRUE(loop_->OnSignal({SIGTERM, SIGINT}, [&] {
    got += 't';
    if (got.size() == 1) {
      ::raise(SIGINT);
    } else {
      loop_->Stop();
    }
  }));
  ::raise(SIGTERM);
  loop_->Run();
  EXPECT_EQ(got, "tt");
}

TEST_F(LoopTest, GivesSignalsBackWhenItGoes) {
  ASSERT_TRUE(loop_->OnSignal({SIGUSR1}, [] {}));
  loop_.reset();
  struct sigaction action{};
  ASSERT_EQ(::sigaction(SIGUSR1, nullptr, &action), 0);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

TEST_F(LoopTest, ASignalThatDoesNotExistIsAnError) {
  const auto added = loop_->OnSignal({4711}, [] {});
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Code::kInvalid);
}

TEST_F(LoopTest, DoesNothingWhileNothingHappens) {
  rusage before{};
  rusage after{};
  loop_->After(milliseconds(200), [&] { loop_->Stop(); });
  ASSERT_EQ(::getrusage(RUSAGE_THREAD, &before), 0);
  loop_->Run();
  ASSERT_EQ(::getrusage(RUSAGE_THREAD, &after), 0);
  EXPECT_LT(after.ru_nvcsw - before.ru_nvcsw, 20) << "it wakes up without a reason";
}

}  // namespace
}  // namespace rail::event
