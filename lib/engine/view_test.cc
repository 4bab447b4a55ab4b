#include "lib/engine/view.h"

#include <gtest/gtest.h>

#include <thread>

namespace rail::engine {
namespace {

TEST(Board, HasAnEmptyViewBeforeTheFirst) {
  EXPECT_EQ(Board().Current()->version, 0U);
}

TEST(Board, NumbersWhatIsPublished) {
  Board board;
  board.Publish({.version = 77, .hostname = "n1"});
  EXPECT_EQ(board.Current()->version, 1U);
  const auto first = board.Current();
  board.Publish({.hostname = "n2"});
  EXPECT_EQ(board.Current()->version, 2U);
  EXPECT_EQ(first->hostname, "n1") << "a published view never changes";
}

TEST(Board, GivesANewerViewAtOnce) {
  Board board;
  board.Publish({});
  EXPECT_EQ(board.WaitNewer(0, After(std::chrono::hours(1)))->version, 1U);
}

TEST(Board, WakesAWatcher) {
  Board board;
  std::thread publisher([&] { board.Publish({.hostname = "n1"}); });
  EXPECT_EQ(board.WaitNewer(0, After(std::chrono::seconds(30)))->hostname, "n1");
  publisher.join();
}

TEST(Board, GivesTheOldViewAtTheDeadline) {
  Board board;
  EXPECT_EQ(board.WaitNewer(0, Clock::now())->version, 0U);
}

}  // namespace
}  // namespace rail::engine
