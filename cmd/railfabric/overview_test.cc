#include "cmd/railfabric/overview.h"

#include <gtest/gtest.h>

namespace rail::railfabric {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class OverviewTest : public testing::Test {
 protected:
  void RunFor(milliseconds time) {
    loop_->After(time, [this] { loop_->Stop(); });
    loop_->Run();
  }

  std::unique_ptr<event::Loop> loop_ = *event::Loop::Open();
  int looks_ = 0;
  Overview overview_{*loop_, [this](fabric::Fleet&, int64_t) {
                       ++looks_;
                       loop_->Stop();
                     }};
};

TEST_F(OverviewTest, LooksAtOnceWhenItIsToldForTheFirstTime) {
  overview_.Expect("n1");
  overview_.Changed();
  RunFor(seconds(5));
  EXPECT_EQ(looks_, 1);
  EXPECT_EQ(overview_.Current()->version, 1U);
  EXPECT_TRUE(overview_.Look([](const Seen& seen) { return seen.fleet.Find("n1") != nullptr; }));
}

TEST_F(OverviewTest, PutsTogetherWhatComesSoonAfterALook) {
  overview_.Changed();
  RunFor(seconds(5));
  overview_.Changed();
  RunFor(milliseconds(10));
  EXPECT_EQ(looks_, 1);
  overview_.Changed();
  RunFor(seconds(5));
  EXPECT_EQ(looks_, 2);
}

}  // namespace
}  // namespace rail::railfabric
