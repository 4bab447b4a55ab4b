#include "lib/fabric/grid.h"

#include <gmock/gmock.h>

#include "lib/fabric/testing/small_fleet.h"

namespace rail::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kNoon;
using testing::SmallFleet;

std::vector<std::string> Cells(const v1::ListFleetRailsResponse& response) {
  std::vector<std::string> cells;
  for (const v1::FleetRail& rail : response.rails()) cells.push_back(rail.node() + "/" + rail.rail());
  return cells;
}

TEST(Grid, HasEachRailByNodeThenIndex) {
  SmallFleet small({.units = 1, .nodes = 11, .rails = 2});
  small.Of("n2").mutable_rails()->SwapElements(0, 1);
  small.Tell(kNoon);
  const Grid grid(small.fleet());
  ASSERT_EQ(grid.cells().size(), 22U);
  EXPECT_EQ(grid.cells()[2].Name(), "n2/rail0");
  EXPECT_EQ(grid.cells()[21].Name(), "n11/rail1");
  EXPECT_EQ(grid.OfNode("n2").size(), 2U);
  EXPECT_TRUE(grid.OfNode("n99").empty());
  EXPECT_EQ(grid.Find("n2", "rail1")->rail->index(), 1U);
  EXPECT_EQ(grid.Find("n2", "rail7"), nullptr);
}

TEST(Grid, ACellHasItsPlaceAndWhatIsWorst) {
  SmallFleet small;
  small.Tell(kNoon);
  small.Cut("n5", 1);
  small.RailOf("n5", 1).set_lossless_known(true);
  small.Tell(kNoon + 5'000);
  small.fleet().SetAway("n6", kNoon + 9'000, "timed out");
  const Grid grid(small.fleet());
  v1::ListFleetRailsRequest request;
  request.set_node("n5");
  request.set_rail("rail1");
  const v1::ListFleetRailsResponse found = ListRails(grid, request);
  ASSERT_EQ(found.rails_size(), 1);
  const v1::FleetRail& rail = found.rails(0);
  EXPECT_EQ(rail.unit(), "su-2");
  EXPECT_EQ(rail.leaf(), "leaf5");
  EXPECT_FALSE(rail.leaf_heard());
  EXPECT_EQ(rail.state(), v1::Rail::NO_SESSION);
  EXPECT_EQ(rail.finding(), "rail-without-session");
  EXPECT_EQ(rail.severity(), v1::Finding::CRITICAL);
  EXPECT_EQ(rail.problem(), "bgpd says: waiting for peer OPEN");
  EXPECT_EQ(rail.since().seconds(), kNoon / 1000 + 5);
  EXPECT_EQ(rail.attachments(), 1U);
  EXPECT_FALSE(rail.has_away_since());
  request.set_node("n6");
  EXPECT_EQ(ListRails(grid, request).rails(0).away_since().seconds(), kNoon / 1000 + 9);
}

TEST(Grid, IsSelectedByPlaceAndColour) {
  SmallFleet small({.units = 2, .nodes = 2, .rails = 2});
  small.Cut("n3", 0);
  small.Tell(kNoon);
  const Grid grid(small.fleet());
  v1::ListFleetRailsRequest leaf;
  leaf.set_leaf("leaf2");
  EXPECT_THAT(Cells(ListRails(grid, leaf)), ElementsAre("n3/rail0", "n4/rail0"));
  v1::ListFleetRailsRequest unit;
  unit.set_unit("su-1");
  unit.set_rail("rail1");
  EXPECT_THAT(Cells(ListRails(grid, unit)), ElementsAre("n1/rail1", "n2/rail1"));
  v1::ListFleetRailsRequest red;
  red.set_red(true);
  EXPECT_THAT(Cells(ListRails(grid, red)), ElementsAre("n3/rail0"));
}

TEST(Grid, LeavesOfOneNameAreToldApart) {
  SmallFleet small({.units = 2, .nodes = 1, .rails = 1});
  small.RailOf("n2", 0).mutable_leaf()->set_name("leaf0");
  small.Tell(kNoon);
  const Grid grid(small.fleet());
  EXPECT_EQ(grid.Find("n1", "rail0")->leaf, "leaf0 (10.255.0.0)");
  EXPECT_EQ(grid.Find("n2", "rail0")->leaf, "leaf0 (10.255.0.1)");
}

TEST(Grid, ALeafWithoutANameHasItsIdentifier) {
  SmallFleet small({.units = 1, .nodes = 1, .rails = 1});
  small.RailOf("n1", 0).mutable_leaf()->clear_name();
  small.Tell(kNoon);
  EXPECT_EQ(Grid(small.fleet()).Find("n1", "rail0")->leaf, "10.255.0.0");
}

TEST(Grid, ANodeInAUnitOfItsOwnIsOfTheUnitOfMostOfItsLeaves) {
  SmallFleet small;
  *small.RailOf("n2", 3).mutable_leaf() = small.RailOf("n5", 3).leaf();
  small.Of("n2").mutable_node()->set_unit("su-of-its-own");
  small.Of("n3").mutable_node()->clear_unit();
  small.Tell(kNoon);
  const Grid grid(small.fleet());
  EXPECT_EQ(grid.UnitOf("n2"), "su-1");
  EXPECT_EQ(grid.UnitOf("n3"), "su-1");
  EXPECT_EQ(grid.UnitOf("n99"), "");
}

TEST(Grid, NodesHaveTheirStateAndTheirFirstProblem) {
  SmallFleet small({.units = 2, .nodes = 2, .rails = 2});
  small.Cut("n2", 1);
  small.Of("n3").mutable_node()->mutable_health(0)->set_ok(false);
  small.Of("n3").mutable_node()->mutable_health(0)->set_problem("disk full");
  small.Tell(kNoon);
  small.fleet().SetAway("n4", kNoon, "timed out");
  small.fleet().Expect("n5");
  const Grid grid(small.fleet());
  const v1::ListFleetNodesResponse all = ListNodes(small.fleet(), grid, {});
  ASSERT_EQ(all.nodes_size(), 5);
  const auto state = [&all](int i) { return all.nodes(i).state(); };
  EXPECT_THAT(
      (std::vector{state(0), state(1), state(2), state(3), state(4)}),
      ElementsAre(v1::FleetNode::FLEET_READY, v1::FleetNode::FLEET_FAILING, v1::FleetNode::FLEET_FAILING,
                  v1::FleetNode::FLEET_AWAY, v1::FleetNode::FLEET_UNHEARD));
  EXPECT_EQ(all.nodes(0).problem(), "");
  EXPECT_EQ(all.nodes(0).remotes(), 6U);
  EXPECT_EQ(all.nodes(1).rails_ready(), 1U);
  EXPECT_EQ(all.nodes(1).rails(), 2U);
  EXPECT_THAT(all.nodes(1).problem(), HasSubstr("rail1: bgpd says"));
  EXPECT_EQ(all.nodes(2).problem(), "state: disk full");
  EXPECT_EQ(all.nodes(2).parts_failed(), 1U);
  EXPECT_EQ(all.nodes(3).problem(), "timed out");
  EXPECT_EQ(all.totals().nodes_unheard(), 1U);
  EXPECT_EQ(all.totals().nodes_away(), 1U);
  v1::ListFleetNodesRequest request;
  request.set_unit("su-2");
  EXPECT_EQ(ListNodes(small.fleet(), grid, request).nodes_size(), 2);
  request.set_node("n3");
  EXPECT_EQ(ListNodes(small.fleet(), grid, request).nodes_size(), 1);
}

}  // namespace
}  // namespace rail::fabric
