#include "lib/base/timing.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

namespace rail {
namespace {

using std::chrono::milliseconds;

TEST(Timings, TellsPartsApartAndTheInnerOneFromTheOuter) {
  const auto began = Clock::now();
  Timings timings;
  {
    const Timed outer(Part::kOvsdb);
    std::this_thread::sleep_for(milliseconds(2));
    {
      const Timed inner(Part::kRecord);
      std::this_thread::sleep_for(milliseconds(20));
    }
    std::this_thread::sleep_for(milliseconds(2));
  }
  const auto all = timings.All();
  const auto whole = Clock::now() - began;
  EXPECT_GE(timings.Of(Part::kOvsdb), milliseconds(4));
  EXPECT_GE(timings.Of(Part::kRecord), milliseconds(20));
  EXPECT_LT(timings.Of(Part::kOvsdb), whole - milliseconds(20)) << "what is inside counts once";
  EXPECT_EQ(timings.Of(Part::kBgp).count(), 0);
  EXPECT_LE(std::reduce(all.begin(), all.end()), whole);
}

TEST(Timings, CountsTheThreadThatMadeItAlone) {
  Timings timings;
  std::thread([] {
    const Timed timed(Part::kLink);
    std::this_thread::sleep_for(milliseconds(2));
  }).join();
  EXPECT_EQ(timings.Of(Part::kLink).count(), 0);
}

TEST(Timed, IsNothingWithoutTimings) {
  {
    const Timed timed(Part::kLink);
  }
  Timings timings;
  EXPECT_EQ(timings.Of(Part::kLink).count(), 0);
}

}  // namespace
}  // namespace rail
