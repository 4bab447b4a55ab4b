#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/config/testing/section.h"

namespace rail::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> ProblemsOf(const char* text, Bursts& bursts) {
  NodeConfig node;
  auto problems = testing::ProblemsWith("bursts", nlohmann::json::parse(text), node);
  bursts = node.bursts;
  return problems;
}

TEST(ParseBurstsTest, WithoutTheSectionItIsOff) {
  Bursts bursts;
  EXPECT_THAT(ProblemsOf("null", bursts), IsEmpty());
  EXPECT_EQ(bursts.every_ms, 0U);
}

TEST(ParseBurstsTest, TakesBothKeys) {
  Bursts bursts;
  EXPECT_THAT(ProblemsOf(R"({"every_ms": 10, "line_rate_mbit": 400000})", bursts), IsEmpty());
  EXPECT_EQ(bursts.every_ms, 10U);
  EXPECT_EQ(bursts.line_rate_mbit, 400000U);
}

TEST(ParseBurstsTest, NamesTheKeyThatIsWrong) {
  Bursts bursts;
  EXPECT_THAT(ProblemsOf(R"({})", bursts), ElementsAre(HasSubstr("bursts.every_ms")));
  EXPECT_THAT(ProblemsOf(R"({"every_ms": 4})", bursts), ElementsAre(HasSubstr("bursts.every_ms")));
  EXPECT_THAT(ProblemsOf(R"({"every_ms": 1001})", bursts), ElementsAre(HasSubstr("bursts.every_ms")));
  EXPECT_THAT(ProblemsOf(R"({"every_ms": 10, "line_rate_mbit": 0})", bursts),
              ElementsAre(HasSubstr("bursts.line_rate_mbit")));
  EXPECT_THAT(ProblemsOf(R"({"every_ms": 10, "each_ms": 1})", bursts),
              ElementsAre(HasSubstr("bursts.each_ms")));
}

}  // namespace
}  // namespace rail::config
