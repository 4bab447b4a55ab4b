#include "cmd/railctl/accept/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rail::accept {
namespace {

using ::testing::ElementsAre;

TEST(Known, TakesWhatIsNotSetOrNewerForCouldNotMeasure) {
  EXPECT_EQ(Known(Report::VERDICT_UNSPECIFIED), Report::COULD_NOT_MEASURE);
  EXPECT_EQ(WordOf(static_cast<Verdict>(9)), "could-not-measure");
  EXPECT_EQ(WordOf(Report::FAIL), "fail");
}

TEST(Figure, HasFourDigitsAndNoExponent) {
  EXPECT_EQ(Figure(389.123, "Gb/s"), "389.1 Gb/s");
  EXPECT_EQ(Figure(2.3456, "us"), "2.346 us");
  EXPECT_EQ(Figure(123456.7, "us"), "123457 us");
}

TEST(WhereOf, LeavesOutWhatAnAttemptDoesNotHave) {
  Attempt attempt;
  EXPECT_EQ(WhereOf(attempt), "");
  attempt.set_from("gpu-1");
  EXPECT_EQ(WhereOf(attempt), "gpu-1");
  attempt.set_rail("rail0");
  attempt.set_to("gpu-2");
  EXPECT_EQ(WhereOf(attempt), "rail0 gpu-1 -> gpu-2");
}

TEST(IsMeasured, IsFalseOfAFigureThatCouldNotBeMeasured) {
  Attempt attempt;
  attempt.set_unit("us");
  attempt.set_verdict(Report::PASS);
  EXPECT_TRUE(IsMeasured(attempt));
  attempt.set_verdict(Report::COULD_NOT_MEASURE);
  EXPECT_FALSE(IsMeasured(attempt));
}

TEST(Duration, IsInTheUnitsThatPeopleUse) {
  EXPECT_EQ(Duration(0.42), "0.42 s");
  EXPECT_EQ(Duration(42), "42 s");
  EXPECT_EQ(Duration(59.7), "1 min 0 s");
  EXPECT_EQ(Duration(192), "3 min 12 s");
  EXPECT_EQ(Duration(3840), "1 h 4 min");
  EXPECT_EQ(Duration(-1), "a time not known");
}

TEST(StartedOf, IsUtcAndSaysWhenItIsNotKnown) {
  Report report;
  EXPECT_EQ(StartedOf(report), "a time not known");
  report.mutable_started()->set_seconds(1'772'334'000);
  EXPECT_EQ(StartedOf(report), "2026-03-01T03:00:00Z");
  report.mutable_started()->set_seconds(INT64_MAX);
  EXPECT_EQ(StartedOf(report), "a time not known");
}

TEST(Median, IsTheMiddleOrTheMeanOfTwo) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
}

TEST(Escaped, LeavesNothingThatXmlForbids) {
  EXPECT_EQ(Escaped("<a b=\"c\">&'"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
  EXPECT_EQ(Escaped(std::string_view("a\0\x1b\n\x7f\xC2\x80z", 8)), "a     z");
  EXPECT_EQ(Escaped("\xEF\xBF\xBE|\xEF\xBF\xBF|\xFF"), "\xEF\xBF\xBD|\xEF\xBF\xBD|\xEF\xBF\xBD");
}

TEST(Wrapped, BreaksAtSpacesAndInsideLongWordsByCharacters) {
  EXPECT_THAT(Wrapped("", 5), ElementsAre(""));
  EXPECT_THAT(Wrapped("one two", 7), ElementsAre("one two"));
  EXPECT_THAT(Wrapped("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(Wrapped("ééééé é", 3), ElementsAre("ééé", "éé", "é"));
}

}  // namespace
}  // namespace rail::accept
