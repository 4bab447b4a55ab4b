#include "lib/engine/attach/connections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "lib/engine/testing/world.h"

namespace rail::engine {
namespace {

using testing::Dependency;
using testing::World;

TEST(Connections, OpensEachEdgeOnceAndOnlyWhenItIsNeeded) {
  World world;
  Openers openers = world.deps().openers(world.config);
  int opened = 0;
  openers.ovsdb = [&opened, open = openers.ovsdb](Deadline deadline) {
    ++opened;
    return open(deadline);
  };
  Connections connections(std::move(openers), After(std::chrono::seconds(30)));
  EXPECT_EQ(opened, 0);
  const auto first = connections.Ovsdb();
  ASSERT_TRUE(first);
  EXPECT_EQ(*connections.Ovsdb(), *first);
  EXPECT_EQ(opened, 1);
}

TEST(Connections, AnEdgeThatIsDownIsAskedOnce) {
  World world;
  Openers openers = world.deps().openers(world.config);
  int asked = 0;
  openers.bgp = [&asked](Deadline) -> Result<std::unique_ptr<frr::Bgp>> {
    ++asked;
    return Fail(Code::kTransient, "bgpd is down");
  };
  Connections connections(std::move(openers), After(std::chrono::seconds(30)));
  EXPECT_EQ(connections.Bgp().error().message, "bgpd is down");
  EXPECT_EQ(connections.Bgp().error().code, Code::kTransient);
  EXPECT_EQ(asked, 1);
}

TEST(Connections, HasOneConnectionForEachBridge) {
  World world;
  Connections connections(world.deps().openers(world.config), After(std::chrono::seconds(30)));
  EXPECT_NE(*connections.OpenFlow("br-rail0"), *connections.OpenFlow("br-rail1"));
  EXPECT_EQ(*connections.OpenFlow("br-rail0"), *connections.OpenFlow("br-rail0"));
}

TEST(Connections, ASwitchThatLetsTheTimeOfACallPassIsNotAskedForTheOtherBridges) {
  World world;
  Openers openers = world.deps().openers(world.config);
  int asked = 0;
  bool hangs = false;
  openers.openflow = [&](const std::string& bridge,
                         Deadline deadline) -> Result<std::unique_ptr<ovs::OpenFlow>> {
    ++asked;
    if (hangs) std::this_thread::sleep_until(deadline);
    return Fail(Code::kTransient, bridge + " does not answer");
  };
  for (const bool each : {false, true}) {
    hangs = each;
    asked = 0;
    Connections connections(openers, After(std::chrono::seconds(30)), std::chrono::milliseconds(20));
    EXPECT_EQ(connections.OpenFlow("br-rail0").error().message, "br-rail0 does not answer");
    EXPECT_EQ(connections.OpenFlow("br-rail1").error().message,
              hangs ? "br-rail0 does not answer" : "br-rail1 does not answer");
    EXPECT_EQ(asked, hangs ? 1 : 2);
  }
}

TEST(Connections, ACallTakesFiveSecondsAtMostAndNeverLongerThanTheVerb) {
  World world;
  const Deadline until = After(std::chrono::seconds(1));
  EXPECT_EQ(Connections(world.deps().openers(world.config), until).CallDeadline(), until);
  const Deadline call =
      Connections(world.deps().openers(world.config), After(std::chrono::hours(1))).CallDeadline();
  EXPECT_LE(call, After(std::chrono::seconds(5)));
}

TEST(Connections, ACallOfIpamHasTimeForAnApiServerAndNeverLongerThanTheVerb) {
  World world;
  const Deadline until = After(std::chrono::seconds(1));
  EXPECT_EQ(Connections(world.deps().openers(world.config), until).IpamDeadline(), until);
  const Deadline before = After(kIpamTime);
  Connections connections(world.deps().openers(world.config), After(std::chrono::hours(1)));
  const Deadline deadline = connections.IpamDeadline();
  EXPECT_GE(deadline, before);
  EXPECT_LE(deadline, After(kIpamTime));
}

TEST(Connections, DevicesAreDownWithTheKernel) {
  World world;
  world.faults.down = {Dependency::kNetlink};
  Connections connections(world.deps().openers(world.config), After(std::chrono::seconds(30)));
  EXPECT_EQ(connections.Devices().error().message, "netlink is down");
}

}  // namespace
}  // namespace rail::engine
