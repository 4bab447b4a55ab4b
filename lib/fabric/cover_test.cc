#include "lib/fabric/cover.h"

#include <gmock/gmock.h>

#include <string>

namespace rail::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Six cells: two nodes (0, 1, 2 and 3, 4, 5) and three leaves (0, 3; 1, 4; 2, 5).
Cover Grid2x3() {
  Cover cover(6);
  for (size_t i = 0; i < 6; ++i) {
    const std::string node = std::to_string(i / 3);
    const std::string leaf = std::to_string(i % 3);
    cover.Put(i, Scope::kNode, node, "n" + node);
    cover.Put(i, Scope::kLeaf, leaf, "leaf" + leaf);
    cover.Put(i, Scope::kFleet, "", "");
  }
  return cover;
}

std::vector<std::string> Texts(const std::vector<Explained>& all) {
  std::vector<std::string> texts;
  for (const Explained& each : all) {
    std::string text = each.scope == Scope::kAlone   ? "alone"
                       : each.scope == Scope::kFleet ? "fleet"
                                                     : each.name;
    for (const size_t item : each.items) text += " " + std::to_string(item);
    texts.push_back(text);
  }
  return texts;
}

constexpr auto kAll = {Scope::kLeaf, Scope::kNode, Scope::kFleet};

TEST(Cover, NothingRedIsNothing) {
  EXPECT_THAT(Grid2x3().Explain({}, kAll), IsEmpty());
}

TEST(Cover, AScopeThatIsWhollyRedExplainsAllOfIt) {
  EXPECT_THAT(Texts(Grid2x3().Explain({1, 4}, kAll)), ElementsAre("leaf1 1 4"));
  EXPECT_THAT(Texts(Grid2x3().Explain({0, 1, 2}, kAll)), ElementsAre("n0 0 1 2"));
}

TEST(Cover, AScopeWithAGreenItemExplainsNothing) {
  EXPECT_THAT(Texts(Grid2x3().Explain({0, 1}, kAll)), ElementsAre("alone 0", "alone 1"));
}

TEST(Cover, WhatExplainsMostIsFirst) {
  EXPECT_THAT(Texts(Grid2x3().Explain({0, 1, 2, 3, 4, 5}, kAll)), ElementsAre("fleet 0 1 2 3 4 5"));
  EXPECT_THAT(Texts(Grid2x3().Explain({0, 1, 2, 4}, kAll)), ElementsAre("n0 0 1 2", "alone 4"));
}

TEST(Cover, ScopesThatAreNotAllowedExplainNothing) {
  EXPECT_THAT(Texts(Grid2x3().Explain({1, 4}, {Scope::kNode})), ElementsAre("alone 1", "alone 4"));
}

TEST(Cover, OfTwoThatExplainTheSameTheNarrowerIsMeant) {
  Cover cover(2);
  for (size_t i = 0; i < 2; ++i) {
    cover.Put(i, Scope::kFleet, "", "");
    cover.Put(i, Scope::kRail, "0", "rail0");
    cover.Put(i, Scope::kLeaf, "a", "leaf0");
  }
  EXPECT_THAT(Texts(cover.Explain({0, 1}, {Scope::kLeaf, Scope::kRail, Scope::kFleet})),
              ElementsAre("leaf0 0 1"));
}

TEST(Cover, AScopeOfOneIsTheItemAlone) {
  Cover cover(1);
  cover.Put(0, Scope::kNode, "n0", "n0");
  EXPECT_THAT(Texts(cover.Explain({0}, kAll)), ElementsAre("alone 0"));
}

TEST(Cover, KnowsHowManyAScopeHas) {
  EXPECT_EQ(Grid2x3().SizeOf(0, Scope::kNode), 3U);
  EXPECT_EQ(Grid2x3().SizeOf(0, Scope::kRail), 0U);
}

}  // namespace
}  // namespace rail::fabric
