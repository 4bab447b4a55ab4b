// What is wanted, and whose the seconds are.
#include "cmd/railctl/accept/book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace rail::accept {
namespace {

using ::testing::ElementsAre;

constexpr auto kSilent = [](const std::string&) {};

double SecondsOf(const v1::AcceptReport& report, const std::string& id) {
  const auto found = std::ranges::find(report.checks(), id, &Check::id);
  return found == report.checks().end() ? -1 : found->seconds();
}

std::vector<std::string> IdsOf(const v1::AcceptReport& report) {
  std::vector<std::string> ids;
  for (const Check& check : report.checks()) ids.push_back(check.id());
  return ids;
}

TEST(GroupOf, IsWhatStandsBeforeTheCheck) {
  EXPECT_EQ(GroupOf("isolation.vlan"), "isolation");
  EXPECT_EQ(GroupOf("isolation"), "isolation");
}

TEST(Book, WantsWhatIsNamedItselfOrByItsGroup) {
  v1::AcceptReport report;
  const Book all(report, {}, kSilent);
  EXPECT_TRUE(all.Wants("qos.dscp"));
  const Book some(report, {"offload", "speed.mtu"}, kSilent);
  EXPECT_TRUE(some.Wants("offload.ready"));
  EXPECT_TRUE(some.Wants("speed.mtu"));
  EXPECT_FALSE(some.Wants("speed.reach"));
  EXPECT_FALSE(some.Wants("qos.dscp"));
}

TEST(Book, BeginsTheChecksOfTheGroupThatAreWanted) {
  v1::AcceptReport report;
  Book book(report, {"offload", "speed.mtu"}, kSilent);
  book.Begin("offload");
  book.Begin("speed");
  book.Begin("qos");
  EXPECT_THAT(IdsOf(report), ElementsAre("offload.ready", "offload.hardware", "offload.one-megaflow",
                                         "offload.masks", "speed.mtu"));
  EXPECT_TRUE(book.IsDone("offload"));
}

TEST(Book, SharesTheSecondsAmongAttemptsThatWereMadeTogether) {
  v1::AcceptReport report;
  Book book(report, {}, kSilent);
  const auto before = std::chrono::steady_clock::now();
  book.Begin("isolation");
  book.AddTogether({{"isolation.vlan", {}}, {"isolation.flood", {}}, {"isolation.vlan", {}}});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
  EXPECT_GT(SecondsOf(report, "isolation.flood"), 0);
  EXPECT_DOUBLE_EQ(SecondsOf(report, "isolation.vlan"), 2 * SecondsOf(report, "isolation.flood"));
  EXPECT_LE(SecondsOf(report, "isolation.vlan") + SecondsOf(report, "isolation.flood"), took.count());
  EXPECT_EQ(SecondsOf(report, "isolation.arp-nd"), 0);
}

TEST(Book, GivesNoShareToWhatIsNotWanted) {
  v1::AcceptReport report;
  Book book(report, {"isolation.vlan"}, kSilent);
  book.Begin("isolation");
  book.AddTogether({{"isolation.flood", {}}});
  EXPECT_EQ(SecondsOf(report, "isolation.vlan"), 0);
  book.AddTogether({{"isolation.flood", {}}, {"isolation.vlan", {}}});
  EXPECT_GT(SecondsOf(report, "isolation.vlan"), 0);
  EXPECT_THAT(IdsOf(report), ElementsAre("isolation.vlan"));
  EXPECT_EQ(report.checks(0).attempts_size(), 1);
}

}  // namespace
}  // namespace rail::accept
