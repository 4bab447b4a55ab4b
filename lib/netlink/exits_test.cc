// Routes of the kernel's own tables, as iproute2 and FRRouting make them.
#include "lib/netlink/exits.h"

#include <gmock/gmock.h>
#include <linux/rtnetlink.h>

#include <chrono>
#include <thread>

#include "lib/netlink/testing/scratch.h"

namespace rail::netlink {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ExitsTest : public testing::Test {
 protected:
  void SetUp() override {
    Run("ip link set lo up");
    for (const char* name : {"mgmt1", "mgmt2", "mgmt3"}) {
      Run(std::string("ip link add ") + name + " type veth peer name " + name + "p");
      Run(std::string("ip link set ") + name + "p up");
      Run(std::string("ip link set ") + name + " up");
    }
  }
  void Run(const std::string& command) {
    const Status done = netns::testing::Shell(node_, command);
    ASSERT_TRUE(done) << command << ": " << done.error().message;
  }
  Exits Of(const std::string& prefix) {
    Exits exits;
    const Status read = node_.Run([&]() -> Status {
      RAIL_ASSIGN(exits, ExitsOf(*IpPrefix::Parse(prefix)));
      return {};
    });
    EXPECT_TRUE(read) << read.error().message;
    return exits;
  }

  netns::Netns node_ = netns::testing::MakeScratch();
};

TEST_F(ExitsTest, NoRouteHasNone) {
  EXPECT_EQ(Of("0.0.0.0/0"), Exits());
  EXPECT_EQ(Of("::/0"), Exits());
}

TEST_F(ExitsTest, AreTheLinksOfOneNextHopOrSeveral) {
  Run("ip -4 route add default via inet6 fe80::1 dev mgmt1 proto bgp metric 20");
  EXPECT_EQ(Of("0.0.0.0/0"), (Exits{{"mgmt1"}, RTPROT_BGP}));
  Run("ip -4 route replace default proto bgp metric 20 nexthop via inet6 fe80::1 dev mgmt1 nexthop via inet6 "
      "fe80::2 dev mgmt2");
  EXPECT_EQ(Of("0.0.0.0/0"), (Exits{{"mgmt1", "mgmt2"}, RTPROT_BGP}));
  Run("ip -6 route add default proto bgp metric 20 nexthop via fe80::1 dev mgmt1 nexthop via fe80::2 dev "
      "mgmt3");
  EXPECT_EQ(Of("::/0"), (Exits{{"mgmt1", "mgmt3"}, RTPROT_BGP}));
}

TEST_F(ExitsTest, AreOfThisPrefixAndTheMainTableAlone) {
  Run("ip route add 10.0.0.0/8 dev mgmt1");
  Run("ip route add 10.0.0.0/16 dev mgmt2");
  Run("ip -4 route add default dev mgmt3 table 100");
  EXPECT_THAT(Of("0.0.0.0/0").links, IsEmpty());
  EXPECT_THAT(Of("10.0.0.0/8").links, ElementsAre("mgmt1"));
  EXPECT_THAT(Of("10.0.0.0/16").links, ElementsAre("mgmt2"));
  EXPECT_THAT(Of("10.1.0.0/16").links, IsEmpty());
}

TEST_F(ExitsTest, OfSeveralRoutesTheLowestMetricCounts) {
  Run("ip -4 route add default dev mgmt1 metric 100");
  Run("ip -4 route add default dev mgmt2 proto static");
  EXPECT_EQ(Of("0.0.0.0/0"), (Exits{{"mgmt2"}, RTPROT_STATIC}));
}

TEST_F(ExitsTest, ALinkWithoutACarrierIsNone) {
  Run("ip -4 route add default proto bgp nexthop via inet6 fe80::1 dev mgmt1 nexthop via inet6 fe80::2 dev "
      "mgmt2");
  Run("ip link set mgmt2p down");
  // The kernel tells its routes of a lost carrier by work of its own (net/core/link_watch.c), up to a second later.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (Of("0.0.0.0/0").links.size() > 1 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_THAT(Of("0.0.0.0/0").links, ElementsAre("mgmt1"));
}

// As zebra makes them by default.
TEST_F(ExitsTest, AreThoseOfAGroupThatRoutesShare) {
  Run("ip nexthop add id 1 via fe80::1 dev mgmt1");
  Run("ip nexthop add id 2 via fe80::2 dev mgmt2");
  Run("ip nexthop add id 3 group 1/2");
  Run("ip -4 route add default nhid 3 proto bgp metric 20");
  Run("ip -6 route add default nhid 1 proto bgp metric 20");
  for (const char* compatible : {"1", "0"}) {  // 0: the kernel names the object and no links
    Run(std::string("echo ") + compatible + " > /proc/sys/net/ipv4/nexthop_compat_mode");
    EXPECT_EQ(Of("0.0.0.0/0"), (Exits{{"mgmt1", "mgmt2"}, RTPROT_BGP})) << compatible;
    EXPECT_THAT(Of("::/0").links, ElementsAre("mgmt1")) << compatible;
  }
  Run("ip nexthop del id 2");
  EXPECT_THAT(Of("0.0.0.0/0").links, ElementsAre("mgmt1")) << "as after a flap with FRRouting 8.4";
}

}  // namespace
}  // namespace rail::netlink
