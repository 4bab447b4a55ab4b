#include "cmd/raild/metrics/switch_looks.h"

#include <gtest/gtest.h>

#include <optional>

namespace rail::raild {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A look is taken at once, or (slow) when the test says so; time passes when the test says so.
class Looks : public testing::Test {
 protected:
  std::shared_ptr<const Measured> Ask() { return looks.Latest(); }
  void EndSlowLook() { std::exchange(waiting, nullptr)(); }

  Clock::time_point now{std::chrono::hours(1)};
  Clock::duration takes = milliseconds(10);
  bool slow = false;
  Measured tells;
  int taken = 0;
  std::function<void()> waiting;
  SwitchLooks looks{{.post =
                         [this](std::function<void()> look) {
                           if (!slow) return look();
                           waiting = std::move(look);
                         },
                     .take =
                         [this] {
                           ++taken;
                           now += takes;
                           return tells;
                         },
                     .now = [this] { return now; },
                     .page_wait = {}}};
};

TEST_F(Looks, AreAHundredTimesTheirDurationApart) {
  takes = milliseconds(400);
  EXPECT_EQ(Ask()->took, milliseconds(400));
  now += milliseconds(39'999);
  Ask();
  EXPECT_EQ(taken, 1);
  now += milliseconds(1);
  takes = milliseconds(600);
  Ask();
  EXPECT_EQ(taken, 2);
  now += milliseconds(59'999);
  Ask();
  EXPECT_EQ(taken, 2) << "the last one's duration counts";
}

TEST_F(Looks, TakeOnePercentOfTheTimeHoweverOftenSomebodyAsks) {
  takes = milliseconds(230);
  const auto began = now;
  while (now < began + std::chrono::hours(2)) {
    Ask();
    now += milliseconds(100);
  }
  EXPECT_GT(taken, 200) << "nor do they stop";
  EXPECT_LE(taken * takes * 100, now - began);
}

TEST_F(Looks, AreFiveSecondsApartAtLeast) {
  Ask();
  now += milliseconds(4'999);
  Ask();
  EXPECT_EQ(taken, 1);
  now += milliseconds(1);
  Ask();
  EXPECT_EQ(taken, 2);
}

TEST_F(Looks, AreShownWithTheirEndUntilThereIsAnother) {
  const auto ended = now + takes;
  EXPECT_EQ(Ask()->ended, ended);
  now += seconds(3);
  EXPECT_EQ(Ask()->ended, ended);
  now += seconds(3);
  EXPECT_EQ(Ask()->ended, now);
}

TEST_F(Looks, ThatAreSlowServeWhoAsksAfterwards) {
  slow = true;
  EXPECT_EQ(Ask(), nullptr) << "there is none that has ended";
  EXPECT_EQ(Ask(), nullptr);
  tells.roce["rail0"] = {{"np_cnp_sent", 6}};
  takes = seconds(4);
  EndSlowLook();
  const auto look = Ask();
  ASSERT_NE(look, nullptr);
  EXPECT_EQ(look->roce.size(), 1U);
  EXPECT_EQ(taken, 1);
  now += seconds(400);
  EXPECT_EQ(Ask(), look) << "the last, while the next is under way";
  takes = milliseconds(10);
  EndSlowLook();
  EXPECT_NE(Ask(), look);
}

TEST_F(Looks, AtASwitchThatTellsNothingComeAgainSoon) {
  tells.sample = {.rules_problem = "no answer in time", .datapath_problem = "no answer in time"};
  takes = milliseconds(700);
  Ask();
  now += seconds(5);
  tells.sample.datapath_problem.clear();
  Ask();
  EXPECT_EQ(taken, 2);
  now += milliseconds(69'999);
  Ask();
  EXPECT_EQ(taken, 2) << "it has told something: that was work";
  now += milliseconds(1);
  Ask();
  EXPECT_EQ(taken, 3);
}

}  // namespace
}  // namespace rail::raild
