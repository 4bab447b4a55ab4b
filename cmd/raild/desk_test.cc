#include "cmd/raild/desk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace rail::raild {
namespace {

TEST(Desk, AnswersEachQuestionOnceHoweverManyAsk) {
  constexpr int kAskers = 8;
  constexpr int kQuestions = 200;
  std::vector<int> answers(kAskers * kQuestions);  // each written by one job: a second call would be a race
  std::atomic<int> taken = 0;
  std::atomic<int> refused = 0;
  {
    Desk desk(2, 16);
    std::vector<std::jthread> askers;
    for (int asker = 0; asker < kAskers; ++asker) {
      askers.emplace_back([&, asker] {
        for (int i = 0; i < kQuestions; ++i) {
          int& answer = answers[static_cast<size_t>(asker * kQuestions + i)];
          desk.Ask([&answer](Desk::Turn) { ++answer; }) ? ++taken : ++refused;
        }
      });
    }
    askers.clear();
  }
  EXPECT_EQ(taken + refused, kAskers * kQuestions);
  EXPECT_EQ(std::count(answers.begin(), answers.end(), 1), taken);
  EXPECT_EQ(std::count(answers.begin(), answers.end(), 0), refused);
}

TEST(Desk, RefusesWhatWouldWaitTooLong) {
  std::latch begun(1);
  std::latch go(1);
  Desk desk(1, 2);
  ASSERT_TRUE(desk.Ask([&](Desk::Turn) {
    begun.count_down();
    go.wait();
  }));
  begun.wait();
  EXPECT_TRUE(desk.Ask([](Desk::Turn) {}));
  EXPECT_TRUE(desk.Ask([](Desk::Turn) {}));
  EXPECT_FALSE(desk.Ask([](Desk::Turn) { ADD_FAILURE() << "refused, and called"; }));
  go.count_down();
}

TEST(Desk, TellsWhoWaitsAndWhoComesLaterThatItIsClosed) {
  std::latch begun(1);
  std::latch go(1);
  std::latch told(1);
  Desk desk(1, 2);
  ASSERT_TRUE(desk.Ask([&](Desk::Turn turn) {
    EXPECT_EQ(turn, Desk::Turn::kNow);
    begun.count_down();
    go.wait();
  }));
  begun.wait();
  ASSERT_TRUE(desk.Ask([&](Desk::Turn turn) {
    EXPECT_EQ(turn, Desk::Turn::kClosed);
    told.count_down();
  }));
  std::jthread closer([&] { desk.Close(); });
  told.wait();
  std::atomic<bool> late = false;
  EXPECT_TRUE(desk.Ask([&](Desk::Turn turn) { late = turn == Desk::Turn::kClosed; }));
  EXPECT_TRUE(late) << "told at once, on the thread that asked";
  go.count_down();
}

}  // namespace
}  // namespace rail::raild
