#include "cmd/raild/api/question_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace rail::raild {
namespace {

TEST(QuestionQueue, AnswersEachQuestionOnceHoweverManyAsk) {
  constexpr size_t kAskers = 8;
  constexpr size_t kQuestions = 200;
  std::vector<int> answers(kAskers * kQuestions);  // each written by one job: two would be a race
  std::atomic<size_t> taken = 0;
  std::atomic<size_t> refused = 0;
  {
    QuestionQueue queue(2, 16);
    std::vector<std::jthread> askers;
    for (size_t asker = 0; asker < kAskers; ++asker) {
      askers.emplace_back([&, asker] {
        for (size_t i = 0; i < kQuestions; ++i) {
          int& answer = answers[(asker * kQuestions) + i];
          queue.Ask([&answer](QuestionQueue::Turn) { ++answer; }) ? ++taken : ++refused;
        }
      });
    }
    askers.clear();
  }
  EXPECT_EQ(taken + refused, kAskers * kQuestions);
  EXPECT_EQ(std::count(answers.begin(), answers.end(), 1), taken);
  EXPECT_EQ(std::count(answers.begin(), answers.end(), 0), refused);
}

TEST(QuestionQueue, RefusesWhatWouldWaitTooLong) {
  std::latch begun(1);
  std::latch go(1);
  QuestionQueue queue(1, 2);
  ASSERT_TRUE(queue.Ask([&](QuestionQueue::Turn) {
    begun.count_down();
    go.wait();
  }));
  begun.wait();
  EXPECT_TRUE(queue.Ask([](QuestionQueue::Turn) {}));
  EXPECT_TRUE(queue.Ask([](QuestionQueue::Turn) {}));
  EXPECT_FALSE(queue.Ask([](QuestionQueue::Turn) { ADD_FAILURE() << "refused, and called"; }));
  go.count_down();
}

TEST(QuestionQueue, TellsWhoWaitsAndWhoComesLaterThatItIsClosed) {
  std::latch begun(1);
  std::latch go(1);
  std::latch told(1);
  QuestionQueue queue(1, 2);
  ASSERT_TRUE(queue.Ask([&](QuestionQueue::Turn turn) {
    EXPECT_EQ(turn, QuestionQueue::Turn::kNow);
    begun.count_down();
    go.wait();
  }));
  begun.wait();
  ASSERT_TRUE(queue.Ask([&](QuestionQueue::Turn turn) {
    EXPECT_EQ(turn, QuestionQueue::Turn::kClosed);
    told.count_down();
  }));
  std::jthread closer([&] { queue.Close(); });
  told.wait();
  std::atomic<bool> late = false;
  EXPECT_TRUE(queue.Ask([&](QuestionQueue::Turn turn) { late = turn == QuestionQueue::Turn::kClosed; }));
  EXPECT_TRUE(late) << "told at once, on the thread that asked";
  go.count_down();
}

}  // namespace
}  // namespace rail::raild
