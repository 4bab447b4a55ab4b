#include "cmd/railfabric/backoff.h"

#include <gtest/gtest.h>

namespace rail::railfabric {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, GrowsToItsLimitAndBeginsAnew) {
  Backoff backoff(milliseconds(1000), milliseconds(5000));
  for (const int each : {1000, 2000, 4000, 5000, 5000}) EXPECT_EQ(backoff.Next(1), milliseconds(each));
  backoff.Reset();
  EXPECT_EQ(backoff.Next(1), milliseconds(1000));
}

TEST(Backoff, SpreadsOverHalfOfTheTime) {
  EXPECT_EQ(Backoff(milliseconds(1000), milliseconds(5000)).Next(0), milliseconds(500));
  EXPECT_EQ(Backoff(milliseconds(1000), milliseconds(5000)).Next(0.5), milliseconds(750));
}

}  // namespace
}  // namespace rail::railfabric
