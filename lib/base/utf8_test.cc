#include "lib/base/utf8.h"

#include <gtest/gtest.h>

namespace rail {
namespace {

TEST(ValidUtf8, KeepsWhatIsValid) {
  for (const std::string text :
       {"", "pod-a", "é", "日本", "\U0001F600", "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(ValidUtf8(text), text);
  }
}

TEST(ValidUtf8, ReplacesEachByteThatIsNot) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(ValidUtf8("a\xFFz"), "a" + r + "z");
  EXPECT_EQ(ValidUtf8("cut \xE6\x97"), "cut " + r + r);
  EXPECT_EQ(ValidUtf8("\xC0\xAF"), r + r);                  // overlong '/'
  EXPECT_EQ(ValidUtf8("\xE0\x80\xAF"), r + r + r);          // the same in three bytes
  EXPECT_EQ(ValidUtf8("\xED\xA0\x80"), r + r + r);          // a surrogate
  EXPECT_EQ(ValidUtf8("\xF4\x90\x80\x80"), r + r + r + r);  // above U+10FFFF
  EXPECT_EQ(ValidUtf8("\x80x"), r + "x");
}

TEST(WithoutControls, LeavesNothingThatATerminalObeys) {
  EXPECT_EQ(WithoutControls("leaf0\x1b[2J\n\x7f", ' '), "leaf0 [2J  ");
  EXPECT_EQ(WithoutControls("a\xC2\x9B"
                            "31mb\xC2\x80",
                            '?'),
            "a?31mb?")
      << "CSI as one character";
  EXPECT_EQ(WithoutControls("é\xC2\xA0日本\xC2", ' '), "é\xC2\xA0日本\xC2");
}

}  // namespace
}  // namespace rail
