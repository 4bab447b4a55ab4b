#include "lib/inspect/cabling.h"

#include <gmock/gmock.h>

namespace rail::inspect {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

using Kind = Miscabled::Kind;
constexpr uint32_t kOwn = 1;

// Nodes by AS, each with the leaves of its rails in order; 0: nothing is known of the rail. The first is this node.
engine::NodeView View(const std::map<uint32_t, std::vector<uint32_t>>& nodes) {
  engine::NodeView view;
  view.asn = kOwn;
  engine::Seats seats;
  for (const auto& [node, leaves] : nodes) {
    for (uint32_t rail = 0; rail < leaves.size(); ++rail) {
      if (leaves[rail] == 0) continue;
      if (node != kOwn) {
        seats.push_back({node, rail, leaves[rail]});
        continue;
      }
      engine::RailView& own = view.rails.emplace_back();
      own.rail.index = rail;
      own.rail.name = "rail" + std::to_string(rail);
      own.leaf = {{leaves[rail], IpAddress(), "leaf" + std::to_string(leaves[rail])}, true};
    }
  }
  view.seats = std::make_shared<const engine::Seats>(std::move(seats));
  return view;
}

std::vector<Miscabled> Of(const std::map<uint32_t, std::vector<uint32_t>>& nodes) {
  return FindMiscabled(Fabric(View(nodes)));
}

MATCHER_P4(Is, kind, node, rail, other, "") {
  return arg.kind == kind && arg.node == static_cast<uint32_t>(node) &&
         arg.rail == static_cast<uint32_t>(rail) && arg.other_rail == static_cast<uint32_t>(other);
}

TEST(Cabling, WhatIsRightContradictsNobody) {
  EXPECT_THAT(Of({{1, {10, 11}}}), IsEmpty());
  EXPECT_THAT(Of({{1, {10, 11}}, {2, {10, 11}}, {3, {20, 21}}, {4, {20, 21}}}), IsEmpty());
  EXPECT_THAT(Of({{1, {10, 11}}, {2, {10, 0}}, {3, {0, 21}}}), IsEmpty());
  // One leaf for all rails, one for two.
  EXPECT_THAT(Of({{1, {10, 10}}, {2, {10, 10}}, {3, {10, 10}}}), IsEmpty());
  EXPECT_THAT(Of({{1, {10, 10, 11, 11}}, {2, {10, 10, 11, 11}}}), IsEmpty());
  EXPECT_THAT(Of({{1, {10, 10}}}), IsEmpty());
  // The same, and pods elsewhere have only one of the rails.
  EXPECT_THAT(Of({{1, {10, 10}}, {2, {10, 0}}}), IsEmpty());
  EXPECT_THAT(Of({{1, {10, 10}}, {2, {0, 10}}, {3, {10, 0}}, {4, {10, 0}}}), IsEmpty());
  EXPECT_THAT(Of({{1, {10, 10, 10}}, {2, {10, 0, 0}}, {3, {0, 0, 10}}}), IsEmpty());
}

TEST(Cabling, SwappedRailsAreFoundByTheMajority) {
  EXPECT_THAT(Of({{1, {11, 10}}, {2, {10, 11}}, {3, {10, 11}}}), ElementsAre(Is(Kind::kSwapped, 1, 0, 1)));
  EXPECT_THAT(Of({{1, {10, 11}}, {2, {10, 11}}, {3, {11, 10}}}), ElementsAre(Is(Kind::kSwapped, 3, 0, 1)));
}

TEST(Cabling, OneAgainstOneIsAskedOnThisNodeAlone) {
  EXPECT_THAT(Of({{1, {10, 11}}, {2, {11, 10}}}), ElementsAre(Is(Kind::kUndecided, 1, 0, 1)));
  EXPECT_THAT(Of({{1, {20, 21}}, {2, {10, 11}}, {3, {11, 10}}}), IsEmpty());
}

TEST(Cabling, TwoRailsOnOneLeaf) {
  EXPECT_THAT(Of({{1, {10, 10}}, {2, {10, 11}}}), ElementsAre(Is(Kind::kOneLeaf, 1, 1, 0)));
  EXPECT_THAT(Of({{1, {10, 11}}, {2, {11, 11}}}), ElementsAre(Is(Kind::kOneLeaf, 2, 0, 1)));
}

TEST(Cabling, WhereMostHaveBothRailsOnALeafTheOneThatHasNotIsNoWitness) {
  EXPECT_THAT(Of({{1, {10, 10}}, {2, {10, 10}}, {3, {10, 10}}, {4, {10, 11}}}), IsEmpty());
}

TEST(Cabling, ThreeRailsInARing) {
  EXPECT_THAT(Of({{1, {11, 12, 10}}, {2, {10, 11, 12}}, {3, {10, 11, 12}}}),
              ElementsAre(Is(Kind::kOtherRail, 1, 0, 1), Is(Kind::kOtherRail, 1, 1, 2),
                          Is(Kind::kOtherRail, 1, 2, 0)));
}

TEST(Cabling, ARailInAnotherUnit) {
  const std::map<uint32_t, std::vector<uint32_t>> four = {
      {1, {10, 11, 12, 23}}, {2, {10, 11, 12, 13}}, {3, {20, 21, 22, 23}}, {4, {20, 21, 22, 23}}};
  EXPECT_THAT(Of(four), ElementsAre(Is(Kind::kTwoUnits, 1, 3, 0)));
  EXPECT_TRUE(Of(four)[0].decided);
  EXPECT_EQ(Of(four)[0].other, 3U);
  // Two rails: nobody knows which is right.
  const auto two = Of({{1, {10, 21}}, {2, {10, 11}}, {3, {20, 21}}});
  EXPECT_THAT(two, ElementsAre(Is(Kind::kTwoUnits, 1, 1, 0)));
  EXPECT_FALSE(two[0].decided);
  // Of another node.
  EXPECT_THAT(Of({{1, {10, 11}}, {2, {10, 21}}, {3, {20, 21}}, {4, {20, 21}}}),
              ElementsAre(Is(Kind::kTwoUnits, 2, 1, 0)));
}

TEST(Cabling, ANodeThatIsBeingCabledAnewIsNotJudged) {
  engine::NodeView view = View({{1, {10, 11}}, {2, {11, 10}}, {3, {10, 11}}});
  engine::Seats seats = *view.seats;
  for (const uint32_t rail : {0U, 1U}) seats.push_back({2, rail, rail == 0 ? 10U : 11U});
  view.seats = std::make_shared<const engine::Seats>(seats);
  EXPECT_THAT(FindMiscabled(Fabric(view)), IsEmpty());
}

TEST(Topology, UnitsAreNodesThatShareMostLeaves) {
  const Fabric fabric(
      View({{1, {10, 11}}, {2, {11, 10}}, {3, {20, 21}}, {4, {20, 0}}, {5, {10, 21}}, {6, {10, 0}}}));
  const auto units = fabric.units();
  ASSERT_EQ(units.size(), 3U);
  EXPECT_TRUE(units[0].own);
  EXPECT_THAT(units[0].nodes, ElementsAre(1, 2, 6));
  EXPECT_THAT(units[1].nodes, ElementsAre(3, 4));
  EXPECT_THAT(units[2].nodes, ElementsAre(5));
  EXPECT_THAT(units[1].leaves, ElementsAre(std::pair(0U, 20U), std::pair(1U, 21U)));
  EXPECT_EQ(fabric.DistanceOfNode(3), v1::ACROSS_SPINE);
  EXPECT_EQ(fabric.DistanceOfNode(5), v1::SAME_LEAF);
  EXPECT_EQ(fabric.DistanceOfNode(2), v1::SAME_UNIT);
}

TEST(Topology, ANodeBetweenTwoUnitsJoinsNone) {
  // Node 2 has a cable in the other unit, and node 6 is seen on that rail alone.
  const std::map<uint32_t, std::vector<uint32_t>> nodes = {{1, {10, 11, 12}}, {2, {10, 11, 22}},
                                                           {3, {20, 21, 22}}, {4, {20, 21, 22}},
                                                           {5, {0, 11, 0}},   {6, {0, 0, 22}}};
  const auto units = Fabric(View(nodes)).units();
  ASSERT_EQ(units.size(), 2U);
  EXPECT_THAT(units[0].nodes, ElementsAre(1, 2, 5));
  EXPECT_THAT(units[1].nodes, ElementsAre(3, 4, 6));
}

TEST(Topology, DistancesFollowFromThePath) {
  engine::NodeView view = View({{1, {10, 11}}});
  engine::AsPathsKeeper keeper;
  const uint32_t near = keeper.Keep({10, 2});
  const uint32_t unit = keeper.Keep({10, 99, 11, 2});
  const uint32_t far = keeper.Keep({10, 99, 20, 3});
  const uint32_t further = keeper.Keep({10, 99, 98, 99, 20, 4});
  view.as_paths = keeper.snapshot();
  const Fabric fabric(view);
  EXPECT_EQ(fabric.DistanceOf(near, 0), v1::SAME_LEAF);
  EXPECT_EQ(fabric.DistanceOf(near, 1),
            v1::SAME_UNIT);  // an address of rail 1 behind our leaf of rail 0
  EXPECT_EQ(fabric.DistanceOf(unit, 1), v1::SAME_UNIT);
  EXPECT_EQ(fabric.DistanceOf(far, 0), v1::ACROSS_SPINE);
  EXPECT_EQ(fabric.DistanceOf(further, 0), v1::FURTHER);
  EXPECT_EQ(fabric.DistanceOf(0, 0), v1::DISTANCE_UNSPECIFIED);
  EXPECT_EQ(FabricPathText(view, view.rails[0], far, 0),
            "leaf10 (AS 10), 1 spine (AS 99), the leaf AS 20, the node AS 3: across-spine");
  EXPECT_EQ(FabricPathText(view, view.rails[0], near, 0), "leaf10 (AS 10), the node AS 2: same-leaf");
  EXPECT_EQ(FabricPathText(view, view.rails[1], near, 0),
            "leaf11 (AS 11), the spines, the leaf AS 10, the node AS 2: same-unit");
  EXPECT_EQ(FabricPathText(view, view.rails[0], 0, 0), "");
}

}  // namespace
}  // namespace rail::inspect
