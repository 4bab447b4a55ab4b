#include "lib/engine/view.h"

#include <gtest/gtest.h>

#include <thread>

namespace rail::engine {
namespace {

TEST(ViewPublisher, HasAnEmptyViewBeforeTheFirst) {
  EXPECT_EQ(ViewPublisher().Current()->version, 0U);
}

TEST(ViewPublisher, NumbersWhatIsPublished) {
  ViewPublisher views;
  views.Publish({.version = 77, .hostname = "n1"});
  EXPECT_EQ(views.Current()->version, 1U);
  const auto first = views.Current();
  views.Publish({.hostname = "n2"});
  EXPECT_EQ(views.Current()->version, 2U);
  EXPECT_EQ(first->hostname, "n1") << "a published view never changes";
}

TEST(ViewPublisher, GivesANewerViewAtOnce) {
  ViewPublisher views;
  views.Publish({});
  EXPECT_EQ(views.WaitNewer(0, After(std::chrono::hours(1)))->version, 1U);
}

TEST(ViewPublisher, WakesAWatcher) {
  ViewPublisher views;
  std::thread publisher([&] { views.Publish({.hostname = "n1"}); });
  EXPECT_EQ(views.WaitNewer(0, After(std::chrono::seconds(30)))->hostname, "n1");
  publisher.join();
}

TEST(ViewPublisher, GivesTheOldViewAtTheDeadline) {
  ViewPublisher views;
  EXPECT_EQ(views.WaitNewer(0, Clock::now())->version, 0U);
}

}  // namespace
}  // namespace rail::engine
