#include "lib/engine/edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/testing/world.h"

namespace rail::engine {
namespace {

using testing::Edge;
using testing::World;

TEST(Edges, OpensEachEdgeOnceAndOnlyWhenItIsNeeded) {
  World world;
  Openers openers = world.deps().openers(world.config);
  int opened = 0;
  openers.ovsdb = [&opened, open = openers.ovsdb](Deadline deadline) {
    ++opened;
    return open(deadline);
  };
  Edges edges(std::move(openers), After(std::chrono::seconds(30)));
  EXPECT_EQ(opened, 0);
  const auto first = edges.Ovsdb();
  ASSERT_TRUE(first);
  EXPECT_EQ(*edges.Ovsdb(), *first);
  EXPECT_EQ(opened, 1);
}

TEST(Edges, AnEdgeThatIsDownIsAskedOnce) {
  World world;
  Openers openers = world.deps().openers(world.config);
  int asked = 0;
  openers.bgp = [&asked](Deadline) -> Result<std::unique_ptr<frr::Bgp>> {
    ++asked;
    return Fail(Code::kTransient, "bgpd is down");
  };
  Edges edges(std::move(openers), After(std::chrono::seconds(30)));
  EXPECT_EQ(edges.Bgp().error().message, "bgpd is down");
  EXPECT_EQ(edges.Bgp().error().code, Code::kTransient);
  EXPECT_EQ(asked, 1);
}

TEST(Edges, HasOneConnectionForEachBridge) {
  World world;
  Edges edges(world.deps().openers(world.config), After(std::chrono::seconds(30)));
  EXPECT_NE(*edges.OpenFlow("br-rail0"), *edges.OpenFlow("br-rail1"));
  EXPECT_EQ(*edges.OpenFlow("br-rail0"), *edges.OpenFlow("br-rail0"));
}

TEST(Edges, ACallTakesFiveSecondsAtMostAndNeverLongerThanTheVerb) {
  World world;
  const Deadline until = After(std::chrono::seconds(1));
  EXPECT_EQ(Edges(world.deps().openers(world.config), until).CallDeadline(), until);
  const Deadline call =
      Edges(world.deps().openers(world.config), After(std::chrono::hours(1))).CallDeadline();
  EXPECT_LE(call, After(std::chrono::seconds(5)));
}

TEST(Edges, DevicesAreDownWithTheKernel) {
  World world;
  world.gate.down = {Edge::kNetlink};
  Edges edges(world.deps().openers(world.config), After(std::chrono::seconds(30)));
  EXPECT_EQ(edges.Devices().error().message, "netlink is down");
}

}  // namespace
}  // namespace rail::engine
