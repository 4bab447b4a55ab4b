#include "lib/base/thread.h"

#include <gtest/gtest.h>

#include "lib/base/testing/no_threads.h"

namespace rail {
namespace {

using testing::NoThreads;

TEST(Thread, ThatCannotBeStartedIsAnError) {
  const NoThreads none;
  const auto thread = StartThread([] {});
  ASSERT_FALSE(thread);
  EXPECT_EQ(thread.error().code, Code::kTransient);
  EXPECT_EQ(OnThread([] { return 1; }).error().code, Code::kTransient);
}

TEST(Thread, WorkBesideIsDoneByWhoeverWaitsForItWhereThereIsNone) {
  std::thread::id ran_on;
  const auto work = [&] {
    ran_on = std::this_thread::get_id();
    return 7;
  };
  EXPECT_EQ(Beside(work).get(), 7);
  EXPECT_NE(ran_on, std::this_thread::get_id());
  const NoThreads none;
  EXPECT_EQ(Beside(work).get(), 7);
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

}  // namespace
}  // namespace rail
