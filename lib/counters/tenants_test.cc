#include "lib/counters/tenants.h"

#include <gtest/gtest.h>

namespace rail::counters {
namespace {

const TenantKey kTenant{"rail0", "team-a"};

Both<Counts> Sent(uint64_t bytes) {
  Both<Counts> both;
  both[Direction::kSent].bytes = bytes;
  return both;
}

TEST(TenantTotalsTest, AddsTheGrowthOfAllPorts) {
  const Clock::time_point now = Clock::now();
  TenantTotals totals;
  totals.Add(kTenant, Sent(100), Sent(150), now);
  totals.Add(kTenant, Sent(7), Sent(10), now);
  totals.Add(kTenant, Sent(1000), Sent(5), now);
  EXPECT_EQ(totals.all().at(kTenant)[Direction::kSent].bytes, 53U)
      << "a counter that began anew has grown by nothing";
}

// A node on which tenants come and go for months has no series of those that are long gone.
TEST(TenantTotalsTest, ForgetsATenantWithoutAPortAfterTheLastScrape) {
  const Clock::time_point now = Clock::now();
  TenantTotals totals;
  totals.Add(kTenant, Sent(0), Sent(50), now);
  totals.Add({"rail1", "team-a"}, Sent(0), Sent(50), now);
  totals.Forget(now + TenantTotals::kKept - std::chrono::seconds(1));
  EXPECT_EQ(totals.all().size(), 2U) << "the last value may still have to be scraped";
  totals.Add(kTenant, Sent(50), Sent(50), now + TenantTotals::kKept);
  totals.Forget(now + TenantTotals::kKept);
  ASSERT_EQ(totals.all().size(), 1U);
  EXPECT_EQ(totals.all().at(kTenant)[Direction::kSent].bytes, 50U);
}

}  // namespace
}  // namespace rail::counters
