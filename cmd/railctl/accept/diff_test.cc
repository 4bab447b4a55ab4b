#include "cmd/railctl/accept/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cmd/railctl/accept/testing/sample.h"

namespace rail::accept {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Report = v1::AcceptReport;

std::string Printed(const std::vector<Difference>& found) {
  std::ostringstream out;
  PrintDifferences(found, printing::Painter(false), out);
  return out.str();
}

std::string Printed(const Report& before, const Report& after) {
  return Printed(Compare(before, after));
}

// One check with one attempt for each value.
Report Measured(const std::string& unit, const std::vector<double>& values, const std::string& pod = "ml/a") {
  Report report;
  auto& check = AddCheck(report, "speed.it", Report::PASS, "");
  for (const double value : values) {
    auto& attempt = AddAttempt(check, Report::PASS, "rail0", pod, "ml/b");
    attempt.set_unit(unit);
    attempt.set_value(value);
  }
  return report;
}

Report WithCheck(Report::Verdict verdict) {
  Report report;
  AddAttempt(AddCheck(report, "isolation.it", verdict, ""), verdict, "rail0", "ml/a", "ml/b");
  return report;
}

TEST(Compare, FindsNothingBetweenAReportAndItself) {
  const auto found = Compare(Sample(), Sample());
  EXPECT_THAT(found, IsEmpty());
  EXPECT_FALSE(IsWorse(found));
  EXPECT_EQ(Printed(found), "no verdict and no version differs, and no value by more than 10 %\n");
}

TEST(Compare, NamesAVerdictThatGotWorseOfCheckAndAttempt) {
  const auto found = Compare(WithCheck(Report::PASS), WithCheck(Report::COULD_NOT_MEASURE));
  EXPECT_EQ(Printed(found),
            "worse    isolation.it: pass -> could-not-measure\n"
            "worse    isolation.it, rail0 ml/a -> ml/b: pass -> could-not-measure\n");
  EXPECT_TRUE(IsWorse(found));
}

TEST(Compare, NamesAnAttemptThatGotWorseThoughItsCheckHadFailedBefore) {
  Report before = Sample();
  Report after = Sample();
  after.mutable_checks(2)->mutable_attempts(0)->set_verdict(Report::FAIL);
  EXPECT_THAT(Compare(before, after), SizeIs(1));
  EXPECT_TRUE(IsWorse(Compare(before, after)));
  EXPECT_FALSE(IsWorse(Compare(after, before)));
}

TEST(Compare, TakesAVerdictThatGotBetterForNoHarm) {
  const auto found = Compare(WithCheck(Report::FAIL), WithCheck(Report::PASS));
  EXPECT_THAT(Printed(found), HasSubstr("better   isolation.it: fail -> pass\n"));
  EXPECT_FALSE(IsWorse(found));
}

TEST(Compare, TakesACheckThatPassedAndIsGoneForWorse) {
  EXPECT_TRUE(IsWorse(Compare(WithCheck(Report::PASS), Report())));
  EXPECT_EQ(Printed(WithCheck(Report::PASS), Report()), "worse    isolation.it: pass -> not there\n");
  EXPECT_FALSE(IsWorse(Compare(WithCheck(Report::FAIL), Report())));
  EXPECT_FALSE(IsWorse(Compare(Report(), WithCheck(Report::FAIL))))
      << "it did not hold before either, as far as is known";
  EXPECT_EQ(Printed(Report(), WithCheck(Report::FAIL)), "changed  isolation.it: not there -> fail\n");
}

TEST(Compare, KnowsForEachUnitWhatIsWorse) {
  EXPECT_EQ(Printed(Measured("Gb/s", {400}), Measured("Gb/s", {200})),
            "worse    speed.it, rail0 ml/a -> ml/b: 400 Gb/s -> 200 Gb/s (-50 %)\n");
  EXPECT_EQ(Printed(Measured("Gb/s", {200}), Measured("Gb/s", {400})),
            "better   speed.it, rail0 ml/a -> ml/b: 200 Gb/s -> 400 Gb/s (+100 %)\n");
  EXPECT_EQ(Printed(Measured("us", {2}), Measured("us", {3})),
            "worse    speed.it, rail0 ml/a -> ml/b: 2 us -> 3 us (+50 %)\n");
  EXPECT_EQ(Printed(Measured("us", {3}), Measured("us", {2})),
            "better   speed.it, rail0 ml/a -> ml/b: 3 us -> 2 us (-33 %)\n");
  EXPECT_EQ(Printed(Measured("drops", {0}), Measured("drops", {3})),
            "changed  speed.it, rail0 ml/a -> ml/b: 0 drops -> 3 drops\n");
  EXPECT_FALSE(IsWorse(Compare(Measured("us", {2}), Measured("us", {3}))))
      << "the check has its own threshold";
}

TEST(Compare, LeavesOutATenthAndLess) {
  EXPECT_THAT(Compare(Measured("Gb/s", {100}), Measured("Gb/s", {90})), IsEmpty());
  EXPECT_THAT(Compare(Measured("Gb/s", {100}), Measured("Gb/s", {89.9})), SizeIs(1));
  EXPECT_THAT(Compare(Measured("us", {0}), Measured("us", {0})), IsEmpty());
}

TEST(Compare, ComparesNoFiguresOfTwoUnits) {
  EXPECT_THAT(Compare(Measured("us", {2}), Measured("Gb/s", {400})), IsEmpty());
}

TEST(Compare, TakesSeveralAttemptsOfOnePairInTheirOrder) {
  EXPECT_EQ(Printed(Measured("us", {2, 20}), Measured("us", {2, 30})),
            "worse    speed.it, rail0 ml/a -> ml/b: 20 us -> 30 us (+50 %)\n");
}

TEST(Compare, TakesTheMediansWherePodsHaveOtherNames) {
  EXPECT_EQ(Printed(Measured("us", {1, 2, 90}, "ml/old"), Measured("us", {3, 4, 5}, "ml/new")),
            "worse    speed.it, median of rail0: 2 us -> 4 us (+100 %)\n");
  EXPECT_THAT(Compare(Measured("us", {1, 2, 90}, "ml/old"), Measured("Gb/s", {4}, "ml/new")), IsEmpty());
}

TEST(Compare, TakesNoValueThatCouldNotBeMeasured) {
  Report after = Measured("us", {90});
  after.mutable_checks(0)->mutable_attempts(0)->set_verdict(Report::COULD_NOT_MEASURE);
  for (const Difference& each : Compare(Measured("us", {2}), after))
    EXPECT_NE(each.of, Difference::Of::kValue);
}

TEST(Compare, NamesVersionsThatChangedWithTheirNodes) {
  Report before = Mesh(6, 1);
  Report after = before;
  after.set_version("0.2.0");
  for (auto& node : *after.mutable_nodes()) (*node.mutable_versions())["raild"] = "0.2.0";
  (*after.mutable_nodes(0)->mutable_versions())["kernel"] = "6.5";
  EXPECT_EQ(Printed(before, after),
            "changed  railctl: 0.1.0 -> 0.2.0\n"
            "changed  kernel of gpu-1: 6.1.0-21 -> 6.5\n"
            "changed  raild of gpu-1, gpu-2, gpu-3 and 3 more: 0.1.0 -> 0.2.0\n");
  EXPECT_FALSE(IsWorse(Compare(before, after)));
}

TEST(PrintDifferences, HasWorseFirstAndTenOfAKind) {
  Report before = Mesh(8, 2);
  Report after = before;
  for (auto& attempt : *after.mutable_checks(1)->mutable_attempts())
    attempt.set_value(attempt.value() * 2);  // latency
  after.set_version("0.2.0");
  const std::string text = Printed(before, after);
  EXPECT_TRUE(text.starts_with("worse    speed.latency, rail0 ")) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("         and 102 more of speed.latency that are worse\n"),
                          HasSubstr("\nchanged  railctl: ")));
  EXPECT_EQ(std::ranges::count(text, '\n'), 12);
}

TEST(PrintDifferences, FitsIntoATerminalAndMovesNoCursor) {
  const auto text = Printed({{Difference::Of::kCheck, Difference::Course::kWorse,
                              std::string(200, 'x') + "\x1b[2J", "", "pass", ""}});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) EXPECT_LE(line.size(), 120U);
}

}  // namespace
}  // namespace rail::accept
