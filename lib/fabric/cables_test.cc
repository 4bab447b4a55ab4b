// Cables that contradict the others.
#include <gmock/gmock.h>

#include "lib/fabric/testing/small_fleet.h"

namespace rail::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kNoon;
using testing::SmallFleet;

// Two units of four nodes with four rails: n1 to n4 behind leaf0 to leaf3, n5 to n8 behind leaf4 to leaf7.
class CablesOfFleet : public ::testing::Test {
 protected:
  // The rail gets the leaf of another node's rail.
  void Plug(const std::string& node, int rail, const std::string& other, int other_rail) {
    *small_.RailOf(node, rail).mutable_leaf() = healthy_.RailOf(other, other_rail).leaf();
  }
  std::vector<std::string> Told() {
    small_.Tell(kNoon);
    return small_.Told();
  }

  SmallFleet small_;
  SmallFleet healthy_;
};

TEST_F(CablesOfFleet, TwoThatAreSwappedAreOneLine) {
  Plug("n2", 0, "n1", 1);
  Plug("n2", 1, "n1", 0);
  ASSERT_THAT(Told(), ElementsAre("rails-swapped n2/rail0"));
  EXPECT_THAT(small_.Found().front().what,
              HasSubstr("rail0 and rail1 have each other's leaves (leaf1, leaf0)"));
}

TEST_F(CablesOfFleet, TwoRailsOnOneLeaf) {
  Plug("n2", 1, "n1", 0);
  ASSERT_THAT(Told(), ElementsAre("rails-on-one-leaf n2/rail1"));
  EXPECT_THAT(small_.Found().front().what, HasSubstr("both lead to leaf0, which is the leaf of rail0"));
}

TEST_F(CablesOfFleet, ARailOnAnothersLeaf) {
  small_.RailOf("n2", 0).clear_leaf();
  Plug("n2", 1, "n1", 0);
  EXPECT_THAT(Told(), ElementsAre("rail-on-other-leaf n2/rail1"));
}

TEST_F(CablesOfFleet, WhereAllNodesHaveTwoRailsOnOneLeafItIsMeantSo) {
  for (const std::string& node : small_.Names()) Plug(node, 1, node, 0);
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(CablesOfFleet, OneAgainstOneIsNotDecided) {
  SmallFleet two({.units = 1, .nodes = 2, .rails = 2});
  std::swap(*two.RailOf("n2", 0).mutable_leaf(), *two.RailOf("n2", 1).mutable_leaf());
  two.Tell(kNoon);
  EXPECT_THAT(two.Told(), IsEmpty());
}

TEST_F(CablesOfFleet, ACableInAnotherUnitsLeaf) {
  Plug("n2", 3, "n5", 3);
  small_.Of("n2").mutable_node()->set_unit("su-of-its-own");  // as the hash of its leaves says
  ASSERT_THAT(Told(), ElementsAre("leaf-in-two-units n2/rail3"));
  EXPECT_THAT(small_.Found().front().what,
              HasSubstr("rail3 leads to leaf7 of su-2, and its other rails to su-1"));
}

TEST_F(CablesOfFleet, OfTwoRailsInTwoUnitsOneIsWrong) {
  SmallFleet two({.units = 2, .nodes = 4, .rails = 2});
  *two.RailOf("n2", 1).mutable_leaf() = two.RailOf("n5", 1).leaf();
  two.Of("n2").mutable_node()->set_unit("su-of-its-own");
  two.Tell(kNoon);
  ASSERT_THAT(two.Told(), ElementsAre("leaf-in-two-units n2/rail0"));
  EXPECT_THAT(two.Found().front().what, HasSubstr("one of the two is wrong"));
}

}  // namespace
}  // namespace rail::fabric
