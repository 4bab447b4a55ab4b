#include "cmd/railctl/accept/junit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "cmd/railctl/accept/testing/sample.h"

namespace rail::accept {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Report = v1::AcceptReport;

std::vector<std::string> All(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (auto match = std::sregex_iterator(text.begin(), text.end(), regex); match != std::sregex_iterator();
       ++match)
    found.push_back((*match)[1]);
  return found;
}

TEST(AsJunit, HasASuiteForEachGroupWithItsCounts) {
  const std::string xml = AsJunit(Sample());
  EXPECT_THAT(All(xml,
                  "<testsuite (name=\"[^\"]*\" tests=\"[^\"]*\" failures=\"[^\"]*\" errors=\"[^\"]*\" "
                  "skipped=\"[^\"]*\")"),
              ElementsAre(R"(name="configuration" tests="1" failures="0" errors="0" skipped="0")",
                          R"(name="offload" tests="1" failures="0" errors="0" skipped="1")",
                          R"(name="isolation" tests="2" failures="2" errors="0" skipped="0")",
                          R"(name="speed" tests="1" failures="0" errors="0" skipped="0")"));
  EXPECT_THAT(
      xml,
      HasSubstr(
          "<testsuites name=\"railctl accept\" tests=\"5\" failures=\"2\" errors=\"0\" time=\"192.000\">"));
  EXPECT_THAT(xml, HasSubstr("time=\"3.000\" timestamp=\"2026-03-01T03:00:00Z\">"));
}

TEST(AsJunit, HasATestCaseForEachCheckInItsGroup) {
  EXPECT_THAT(All(AsJunit(Sample()), "<testcase classname=\"([^\"]*\" name=\"[^\"]*\" time=\"[^\"]*)\">"),
              ElementsAre("configuration\" name=\"configuration.mtu\" time=\"1.500",
                          "offload\" name=\"offload.in-hardware\" time=\"1.500",
                          "isolation\" name=\"isolation.forged-source\" time=\"1.500",
                          "isolation\" name=\"isolation.&lt;b&gt;&quot;names&quot;&amp;\" time=\"1.500",
                          "speed\" name=\"speed.bandwidth\" time=\"1.500"));
}

TEST(AsJunit, SaysWhyAndHasTheEvidenceOfWhatDidNotPass) {
  const std::string xml = AsJunit(Sample());
  EXPECT_THAT(All(xml, "<failure type=\"fail\" message=\"([^\"]{9})"), ElementsAre("rail0: 40", "a &lt;/dl"));
  EXPECT_THAT(All(xml, "<skipped message=\"([^\"]{6})[^\"]*\"/>"), ElementsAre("gpu-3:"));
  EXPECT_THAT(
      xml, HasSubstr("\nfail rail0 railcni-accept/accept-gpu-2 -&gt; railcni-accept/accept-gpu-1; did: ran"));
  EXPECT_THAT(
      xml,
      HasSubstr("\npass rail0 railcni-accept/accept-gpu-1 -&gt; railcni-accept/accept-gpu-2 385 Gb/s\n"));
}

TEST(AsJunit, IsXmlWhateverAPodIsCalled) {
  const std::string xml = AsJunit(Sample());
  EXPECT_THAT(xml, AllOf(Not(HasSubstr("<b>")), Not(HasSubstr("<script")), Not(HasSubstr("]]>")),
                         Not(HasSubstr("<!--")), Not(HasSubstr("\xEF\xBF\xBF"))));
  EXPECT_TRUE(std::ranges::none_of(xml, [](char c) { return c >= 0 && c < ' ' && c != '\n'; }));
}

TEST(AsJunit, OfNothingHasNoSuiteAndNoTimeThatTheSchemaRefuses) {
  EXPECT_EQ(AsJunit(Report()),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuites name=\"railctl accept\" tests=\"0\" failures=\"0\" errors=\"0\" "
            "time=\"0.000\">\n</testsuites>\n");
  Report report;
  AddCheck(report, "a.b", Report::PASS, "").set_seconds(-1);
  EXPECT_THAT(AsJunit(report), AllOf(HasSubstr("time=\"0.000\">"), Not(HasSubstr("timestamp"))));
}

}  // namespace
}  // namespace rail::accept
