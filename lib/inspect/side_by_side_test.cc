// One part that hangs costs nobody else's answer, and one thread however often it is asked.
#include "lib/inspect/side_by_side.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>

#include "lib/base/testing/no_threads.h"

namespace rail::inspect {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class SideBySideTest : public ::testing::Test {
 protected:
  ~SideBySideTest() override { unlocked_.set_value(); }

  SideBySide::Answer<int> AskHung(Deadline until) {
    return parts_.Ask<int>("bgpd", until, [this]() -> Result<int> {
      ++asked_;
      lock_.wait();
      return 0;
    });
  }

  std::promise<void> unlocked_;
  std::shared_future<void> lock_ = unlocked_.get_future().share();
  std::atomic<int> asked_ = 0;
  SideBySide parts_;
};

TEST_F(SideBySideTest, AHungPartLeavesTheOthersTheirTime) {
  auto hung = AskHung(After(milliseconds(20)));
  auto well = parts_.Ask<int>("ovsdb-server", After(seconds(5)), []() -> Result<int> { return 7; });
  EXPECT_EQ(hung.Wait(After(milliseconds(20))).error().message, "no answer in time");
  const Result<int> answer = well.Wait(After(seconds(5)));
  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, 7);
}

TEST_F(SideBySideTest, APartThatIsLateIsNotAskedAgain) {
  EXPECT_FALSE(AskHung(After(milliseconds(1))).Wait(After(milliseconds(20))));
  auto again = AskHung(After(seconds(5)));
  const Result<int> refused = again.Wait(After(seconds(5)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kTransient);
  EXPECT_EQ(refused.error().message, "a question asked before has not been answered yet");
  EXPECT_EQ(asked_, 1);
}

TEST_F(SideBySideTest, APartThatIsBackIsAskedAgain) {
  for (int i = 1; i <= 3; ++i) {
    auto answer = parts_.Ask<int>("bgpd", After(seconds(5)), [&]() -> Result<int> { return ++asked_; });
    EXPECT_EQ(answer.Wait(After(seconds(5))).value_or(0), i);
  }
}

// At the limit of tasks of its cgroup the node has no answer, and raild goes on.
TEST_F(SideBySideTest, APartForWhichThereIsNoThreadHasNoAnswer) {
  std::optional<rail::testing::NoThreads> none_left(std::in_place);
  auto answer = parts_.Ask<int>("bgpd", After(seconds(5)), [this]() -> Result<int> { return ++asked_; });
  none_left.reset();
  const Result<int> none = answer.Wait(After(seconds(5)));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kTransient);
  EXPECT_EQ(none.error().message.find("no thread can be started"), 0U) << none.error().message;
  EXPECT_EQ(asked_, 0);
  auto again = parts_.Ask<int>("bgpd", After(seconds(5)), [this]() -> Result<int> { return ++asked_; });
  EXPECT_EQ(again.Wait(After(seconds(5))).value_or(0), 1) << "as soon as there is one";
}

TEST_F(SideBySideTest, ErrorsOfAPartAreItsOwnWords) {
  auto answer = parts_.Ask<int>("bgpd", After(seconds(5)),
                                []() -> Result<int> { return Fail(Code::kTransient, "connection refused"); });
  EXPECT_EQ(answer.Wait(After(seconds(5))).error().message, "connection refused");
}

}  // namespace
}  // namespace rail::inspect
