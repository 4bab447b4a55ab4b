#include "lib/base/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace rail {
namespace {

struct Thing {
  std::string name;
};

TEST(Join, PutsTheTextBetween) {
  EXPECT_EQ(Join(std::vector<std::string>{}, ", "), "");
  EXPECT_EQ(Join(std::vector<std::string>{"a"}, ", "), "a");
  EXPECT_EQ(Join(std::vector<std::string>{"a", "b", "c"}, " and "), "a and b and c");
  EXPECT_EQ(Join(std::vector<Thing>{{"x"}, {"y"}}, ",", &Thing::name), "x,y");
  EXPECT_EQ(Join(std::vector<int>{1, 2}, " ", [](int n) { return std::to_string(n); }), "1 2");
}

TEST(Append, PutsNothingBeforeTheFirst) {
  std::string text;
  Append(text, "; ", "a");
  Append(text, "; ", "b");
  EXPECT_EQ(text, "a; b");
}

}  // namespace
}  // namespace rail
