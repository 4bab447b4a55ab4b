#include "cmd/railctl/accept/report.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "cmd/railctl/accept/testing/sample.h"

namespace rail::accept {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Check Of(const std::vector<Verdict>& attempts) {
  Check check;
  for (const Verdict verdict : attempts) check.add_attempts()->set_verdict(verdict);
  return check;
}

Report WithChecks(const std::vector<Verdict>& verdicts) {
  Report report;
  for (const Verdict verdict : verdicts) *report.add_checks() = Of({verdict});
  return report;
}

std::string Printed(const Report& report, bool color = false) {
  std::ostringstream out;
  PrintReport(report, printing::Painter(color), out);
  return out.str();
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Worst, IsFailOverCouldNotMeasureOverPass) {
  EXPECT_EQ(Worst(Of({Report::PASS, Report::PASS})), Report::PASS);
  EXPECT_EQ(Worst(Of({Report::PASS, Report::COULD_NOT_MEASURE, Report::PASS})), Report::COULD_NOT_MEASURE);
  EXPECT_EQ(Worst(Of({Report::COULD_NOT_MEASURE, Report::FAIL, Report::PASS})), Report::FAIL);
  EXPECT_EQ(Worst(Of({Report::PASS, Report::VERDICT_UNSPECIFIED})), Report::COULD_NOT_MEASURE);
  EXPECT_EQ(Worst(Of({})), Report::COULD_NOT_MEASURE);
}

TEST(VerdictOf, BelievesNoCheckThatIsBetterThanItsAttempts) {
  Check check = Of({});
  check.set_verdict(Report::PASS);
  EXPECT_EQ(VerdictOf(check), Report::COULD_NOT_MEASURE);
  check = Of({Report::PASS});
  EXPECT_EQ(VerdictOf(check), Report::PASS);
  check.set_verdict(Report::FAIL);
  EXPECT_EQ(VerdictOf(check), Report::FAIL);
}

TEST(ExitCodeOf, IsOneForAFailureAndThreeForWhatIsNotKnown) {
  EXPECT_EQ(ExitCodeOf(WithChecks({Report::PASS, Report::PASS})), 0);
  EXPECT_EQ(ExitCodeOf(WithChecks({Report::PASS, Report::COULD_NOT_MEASURE, Report::FAIL})), 1);
  EXPECT_EQ(ExitCodeOf(WithChecks({Report::PASS, Report::COULD_NOT_MEASURE})), 3);
  EXPECT_EQ(ExitCodeOf(Report()), 3) << "a report of nothing proves nothing";
}

TEST(AsJson, ComesBackAsItWas) {
  const Report report = Sample();
  const auto back = ParseReport(AsJson(report));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(report, *back));
}

TEST(AsJson, HasTheNamesOfTheProtoAndEveryPlainField) {
  const auto json = nlohmann::json::parse(AsJson(Sample()));
  EXPECT_EQ(json.at("started"), "2026-03-01T03:00:00Z");
  EXPECT_EQ(json.at("schema"), 1);
  const auto& attempt = json.at("checks").at(0).at("attempts").at(0);
  EXPECT_EQ(attempt.at("verdict"), "PASS");
  for (const char* field : {"rail", "from", "to", "did", "control", "seen", "value", "unit"})
    EXPECT_TRUE(attempt.contains(field)) << field;
  EXPECT_THAT(AsJson(Sample()), HasSubstr("\n \"version\": \"0.1.0\""));
}

TEST(AsJson, IsOneTextWhateverTheOrderOfAMap) {
  const std::vector<std::string> parts = {"raild",        "kernel",    "FRRouting",
                                          "Open vSwitch", "mlx5_core", "railctl"};
  Report one;
  Report other;
  auto& versions = *one.add_nodes()->mutable_versions();
  for (const std::string& part : parts) versions[part] = "1";
  auto& reversed = *other.add_nodes()->mutable_versions();
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) reversed[*part] = "1";
  EXPECT_EQ(AsJson(one), AsJson(other));
  EXPECT_LT(AsJson(one).find("FRRouting"), AsJson(one).find("railctl")) << "by name";
}

TEST(ParseReport, SaysWhereTextIsNoJson) {
  const auto report = ParseReport("{\n \"schema\": 1,,\n}");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::kInvalid);
  EXPECT_THAT(report.error().message, AllOf(HasSubstr("read the report: "), HasSubstr("line 2")));
}

TEST(ParseReport, RefusesOtherDocuments) {
  for (const std::string text : {"[]", "{}", R"({"schema": "1"})", R"({"schema": 0})", R"({"checks": []})"}) {
    const auto report = ParseReport(text);
    ASSERT_FALSE(report) << text;
    EXPECT_THAT(report.error().message, HasSubstr("no number `schema`")) << text;
  }
}

TEST(ParseReport, NamesTheRailctlThatWroteANewerSchema) {
  const auto report = ParseReport(R"({"schema": 2, "version": "0.9.0", "checks": "of another kind"})");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::kUnsupported);
  EXPECT_THAT(report.error().message,
              AllOf(HasSubstr("has schema 2"), HasSubstr("up to 1"), HasSubstr("(0.9.0)")));
}

TEST(ParseReport, LeavesOutFieldsOfALaterVersionAndRefusesAnotherType) {
  const auto report =
      ParseReport(R"({"schema": 1, "later": {}, "checks": [{"id": "a.b", "verdict": "DOUBTED"}]})");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(VerdictOf(report->checks(0)), Report::COULD_NOT_MEASURE);
  const auto wrong = ParseReport(R"({"schema": 1, "seconds": "long"})");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::kInvalid);
  EXPECT_THAT(wrong.error().message, HasSubstr("seconds"));
}

TEST(PrintReport, HasFailuresFirstAndTheWholeInTheLastLine) {
  const std::string text = Printed(Sample());
  EXPECT_LT(text.find("\nisolation\n"), text.find("\noffload\n"));
  EXPECT_LT(text.find("\noffload\n"), text.find("\nconfiguration\n")) << "could not be measured, then passed";
  EXPECT_LT(text.find("\nconfiguration\n"), text.find("\nspeed\n")) << "as in the report";
  EXPECT_EQ(LinesOf(text).front(), "railctl accept 0.1.0, 2026-03-01T03:00:00Z, 4 nodes");
  EXPECT_EQ(LinesOf(text).back(),
            "2 failed, 1 could not be measured, 2 passed in 3 min 12 s; exit status 1: something failed");
}

TEST(PrintReport, HasEvidenceOfWhatDidNotPassAlone) {
  const std::string text = Printed(Sample());
  EXPECT_THAT(text, HasSubstr("      fail rail0 railcni-accept/accept-gpu-2 -> railcni-accept/accept-gpu-1\n"
                              "        did      ran ib_write_bw"));
  EXPECT_THAT(text, HasSubstr("        control  20 of 20"));
  EXPECT_THAT(text, HasSubstr("      could-not-measure rail1"));
  EXPECT_THAT(text, Not(HasSubstr("      pass ")));
}

TEST(PrintReport, HasThreeAttemptsAtMostAndSaysHowManyMore) {
  Report report;
  Check& check = AddCheck(report, "a.b", Report::FAIL, "broken");
  AddAttempt(check, Report::COULD_NOT_MEASURE, "rail9", "a", "b");
  for (int i = 0; i < 5; ++i) AddAttempt(check, Report::FAIL, "rail0", "a", "b");
  const std::string text = Printed(report);
  EXPECT_EQ(CountOf(text, "      fail rail0"), 3);
  EXPECT_THAT(text, AllOf(Not(HasSubstr("rail9")), HasSubstr("and 3 more attempts;")));
}

TEST(PrintReport, FitsIntoATerminalAndMovesNoCursor) {
  Report report = Sample();
  AddCheck(report, std::string(90, 'i') + ".id", Report::FAIL, std::string(300, 'w'))
      .set_group(std::string(200, 'g'));
  for (const std::string& line : LinesOf(Printed(report))) {
    EXPECT_LE(std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }), 120) << line;
    EXPECT_TRUE(std::ranges::none_of(line, [](char c) { return c >= 0 && c < ' '; })) << line;
  }
}

TEST(PrintReport, SaysTheSameWithColour) {
  const std::string colored = Printed(Sample(), true);
  EXPECT_THAT(colored, HasSubstr("\x1b[31mfail\x1b[0m"));
  EXPECT_THAT(colored, HasSubstr("\x1b[33mcould-not-measure\x1b[0m"));
  EXPECT_THAT(colored, HasSubstr("\x1b[32mpass\x1b[0m"));
  EXPECT_EQ(std::regex_replace(colored, std::regex("\x1b\\[[0-9]+m"), ""), Printed(Sample()));
}

TEST(PrintReport, OfNothingSaysSo) {
  EXPECT_THAT(
      LinesOf(Printed(Report())),
      ElementsAre("railctl accept , a time not known, 0 nodes", "",
                  "0 failed, 0 could not be measured, 0 passed in 0 s; exit status 3: nothing was checked"));
  Report report;
  AddCheck(report, "a.b", Report::PASS, "");
  EXPECT_THAT(Printed(report), AllOf(HasSubstr("could-not-measure   a.b"), HasSubstr("no attempt was made")));
}

}  // namespace
}  // namespace rail::accept
