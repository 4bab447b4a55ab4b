#include "lib/fabric/names.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

namespace rail::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Optional;

TEST(Names, AreInTheOrderInWhichPeopleCount) {
  std::vector<std::string> names = {"n10", "n2", "n01", "m", "n1", "n", "n2-b", "n2-a", "n1a2"};
  std::ranges::sort(names, IsBefore);
  EXPECT_THAT(names, ElementsAre("m", "n", "n01", "n1", "n1a2", "n2", "n2-a", "n2-b", "n10"));
}

TEST(Names, OfNumbersBeyondAnyInteger) {
  EXPECT_TRUE(IsBefore("n99999999999999999998", "n99999999999999999999"));
  EXPECT_TRUE(IsBefore("n99999999999999999999", "n100000000000000000000"));
}

TEST(Names, NoneIsBeforeItself) {
  for (const char* name : {"", "n", "n1", "01"}) EXPECT_FALSE(IsBefore(name, name)) << name;
}

TEST(LastNumber, IsTheLastRunOfDigits) {
  EXPECT_THAT(LastNumber("train-worker-12"), Optional(Eq(12U)));
  EXPECT_THAT(LastNumber("train-12-x7k"), Optional(Eq(7U)));
  EXPECT_THAT(LastNumber("train-007"), Optional(Eq(7U)));
  EXPECT_THAT(LastNumber("3"), Optional(Eq(3U)));
}

TEST(LastNumber, IsNoneWithoutDigitsOrBeyond32Bits) {
  EXPECT_EQ(LastNumber("train"), std::nullopt);
  EXPECT_EQ(LastNumber(""), std::nullopt);
  EXPECT_EQ(LastNumber("train-4294967296"), std::nullopt);
}

}  // namespace
}  // namespace rail::fabric
