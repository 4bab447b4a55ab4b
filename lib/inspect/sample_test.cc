#include "lib/inspect/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rail::inspect {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

SwitchSample Of(std::vector<DropRule> drops) {
  return {.drops = std::move(drops)};
}

std::vector<std::string> List(const DropTotals& totals) {
  std::vector<std::string> list;
  for (const auto& [key, count] : totals.totals()) {
    list.push_back(key.rail + " " + std::to_string(key.table) + " " + key.tenant + "=" +
                   std::to_string(count));
  }
  return list;
}

TEST(DropTotals, BeginWithTheFirstSample) {
  DropTotals totals;
  totals.Add(Of({{"rail0", 3, 0, "", 1000}}));
  EXPECT_THAT(List(totals), ElementsAre("rail0 3 =0")) << "a restart of raild is a reset, not a burst";
  totals.Add(Of({{"rail0", 3, 0, "", 1007}}));
  EXPECT_THAT(List(totals), ElementsAre("rail0 3 =7"));
}

TEST(DropTotals, AddUpTheRulesOfATenant) {
  DropTotals totals;
  totals.Add(Of({}));
  totals.Add(Of(
      {{"rail0", 0, 1, "a", 5}, {"rail0", 0, 2, "a", 6}, {"rail0", 0, 3, "b", 7}, {"rail1", 0, 4, "a", 8}}));
  EXPECT_THAT(List(totals), ElementsAre("rail0 0 a=11", "rail0 0 b=7", "rail1 0 a=8"));
}

TEST(DropTotals, NeverShrink) {
  DropTotals totals;
  totals.Add(Of({}));
  totals.Add(Of({{"rail0", 0, 1, "a", 50}, {"rail0", 0, 2, "a", 60}}));
  totals.Add(Of({{"rail0", 0, 2, "a", 61}}));  // a pod has gone, with what its rule had counted
  EXPECT_THAT(List(totals), ElementsAre("rail0 0 a=111"));
  totals.Add(Of({{"rail0", 0, 2, "a", 3}}));  // another ovs-vswitchd
  EXPECT_THAT(List(totals), ElementsAre("rail0 0 a=114"));
}

TEST(DropTotals, TakeNothingFromASwitchThatHasNotTold) {
  DropTotals totals;
  totals.Add(Of({{"rail0", 0, 1, "a", 5}}));
  totals.Add({.rules_problem = "no answer"});
  totals.Add(Of({{"rail0", 0, 1, "a", 9}}));
  EXPECT_THAT(List(totals), ElementsAre("rail0 0 a=4"));
}

TEST(DropTotals, ForgetTenantsThatHaveGone) {
  DropTotals totals;
  totals.Add(Of({{"rail0", 0, 1, "a", 5}}));
  totals.Add(Of({}));
  EXPECT_THAT(List(totals), IsEmpty());
}

}  // namespace
}  // namespace rail::inspect
