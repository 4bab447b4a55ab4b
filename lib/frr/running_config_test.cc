#include "lib/frr/running_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rail::frr {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

IpAddress Ip(const char* text) {
  return *IpAddress::Parse(text);
}

// As FRR 8.4.4 prints it.
constexpr const char* kText = R"(frr version 8.4.4
frr defaults traditional
!
hostname n1
! "log file /var/log/frr.log debugging" enabled by "--log" startup option
!
router bgp 65009 vrf red
 network 1.1.1.1/32
 !
 address-family ipv4 unicast
  network 10.0.3.99/32 route-map railcni-rail0-any
 exit-address-family
exit
!
router bgp 4200000001
 bgp router-id 10.255.0.1
 no bgp network import-check
 neighbor br-rail0 interface remote-as external
 !
 address-family ipv4 unicast
  network 10.0.3.7/32 route-map railcni-rail0-0000000000000000000000000007
  network 192.0.2.1/32
  network 198.51.100.0/24 route-map other
  table-map railcni-nofib
 exit-address-family
 !
 address-family ipv6 unicast
  network 2001:db8::7/128 route-map railcni-rail0-any
  neighbor br-rail0 activate
 exit-address-family
 !
 address-family l2vpn evpn
  neighbor br-rail0 activate
  network 10.0.3.98/32 route-map railcni-rail0-any
 exit-address-family
exit
!
bgp as-path access-list railcni-local seq 5 permit ^$
!
bgp large-community-list standard railcni-rail0-only seq 5 permit 1:2:3
!
route-map railcni-nofib deny 10
 match large-community railcni-any
exit
!
route-map railcni-nofib permit 20
exit
!
end
)";

TEST(RunningConfig, ReadsTheDefaultInstanceAlone) {
  const RunningConfig config = ParseRunningConfig(kText);
  EXPECT_EQ(config.asn, 4200000001U);
  EXPECT_THAT(config.lines, ElementsAre("bgp router-id 10.255.0.1", "no bgp network import-check",
                                        "neighbor br-rail0 interface remote-as external"));
  EXPECT_THAT(config.ipv4.lines, ElementsAre("table-map railcni-nofib"));
  EXPECT_THAT(config.ipv6.lines, ElementsAre("neighbor br-rail0 activate"));
  EXPECT_EQ(config.FindNetwork(Ip("10.0.3.99")), nullptr);
  EXPECT_EQ(config.FindNetwork(Ip("10.0.3.98")), nullptr);
}

TEST(RunningConfig, KnowsTheRouteMapOfAHostNetwork) {
  const RunningConfig config = ParseRunningConfig(kText);
  EXPECT_EQ(*config.FindNetwork(Ip("10.0.3.7")), "railcni-rail0-0000000000000000000000000007");
  EXPECT_EQ(*config.FindNetwork(Ip("2001:db8::7")), "railcni-rail0-any");
  EXPECT_EQ(*config.FindNetwork(Ip("192.0.2.1")), "");
  EXPECT_EQ(config.FindNetwork(Ip("198.51.100.0")), nullptr);
}

TEST(RunningConfig, ReadsListsAndRouteMaps) {
  const RunningConfig config = ParseRunningConfig(kText);
  EXPECT_THAT(config.lists,
              ElementsAre("bgp as-path access-list railcni-local seq 5 permit ^$",
                          "bgp large-community-list standard railcni-rail0-only seq 5 permit 1:2:3"));
  EXPECT_THAT(config.route_maps.at("railcni-nofib").at("deny 10"),
              ElementsAre("match large-community railcni-any"));
  EXPECT_THAT(config.route_maps.at("railcni-nofib").at("permit 20"), IsEmpty());
}

TEST(RunningConfig, ReadsDottedAsNumbers) {
  EXPECT_EQ(ParseRunningConfig("router bgp 64086.59905 as-notation dot\n").asn, 64086U << 16 | 59905U);
  EXPECT_EQ(ParseRunningConfig("router bgp 65536.1\n").asn, std::nullopt);
}

TEST(RunningConfig, SurvivesNonsense) {
  for (const char* text : {"", "\n\n", " network", "router bgp", "router bgp ", "router bgp x\n network", " ",
                           "exit-address-family",
                           "router bgp 1\n address-family ipv4 unicast\n  network\n  network x route-map\n",
                           "router bgp 1\n address-family ipv4 unicast\n  network 1.2.3.4/32 route-map"}) {
    const RunningConfig config = ParseRunningConfig(text);
    EXPECT_TRUE(config.ipv6.networks.empty());
  }
}

TEST(RunningConfig, TakesNothingForAnEntryThatCannotBeNamedInACommand) {
  const RunningConfig running = ParseRunningConfig(
      "route-map a permit 10\n set metric 5\nexit\nroute-map a deny\n set metric 6\nexit\nroute-map a permit "
      "1\x01\nexit\n"
      "route-map a\nexit\nroute-map a permit 123456\nexit\n");
  ASSERT_EQ(running.route_maps.size(), 1U);
  EXPECT_EQ(running.route_maps.at("a"), (RouteMap{{"permit 10", {"set metric 5"}}}));
}

}  // namespace
}  // namespace rail::frr
