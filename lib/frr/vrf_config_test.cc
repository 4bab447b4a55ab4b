// The instances of VRFs: what they are told, and what of them is removed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/frr/base_config.h"
#include "lib/frr/base_removal.h"
#include "lib/frr/show.h"

namespace rail::frr {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const Identity kDefault{4200000001, 4200000000};
const Identity kRed{4200000001, 4200000000, "railcni-0-101"};
const Identity kBlue{4200000001, 4200000000, "railcni-0-102"};

IpAddress Ip(const char* text) {
  return *IpAddress::Parse(text);
}
BaseConfig Base() {
  return {Ip("10.255.0.1"), {{"rail0", 0, "rcvlan-0-101"}}, 1000};
}

// As bgpd 8.4.4 prints it. The admin has a VRF of their own; red is complete, blue has one tenant's pod and no session.
const std::string kRunning = R"(router bgp 4200000001
 bgp router-id 10.255.0.1
 bgp graceful-restart
 bgp graceful-restart preserve-fw-state
 no bgp network import-check
 coalesce-time 100
 !
 address-family ipv4 unicast
  table-map railcni-nofib
 exit-address-family
 !
 address-family ipv6 unicast
  table-map railcni-nofib
 exit-address-family
exit
!
router bgp 4200000001 vrf railcni-0-101
 bgp router-id 10.255.0.1
 bgp graceful-restart
 bgp graceful-restart preserve-fw-state
 no bgp network import-check
 coalesce-time 100
 neighbor rcvlan-0-101 interface remote-as external
 neighbor rcvlan-0-101 timers 3 9
 neighbor rcvlan-0-101 timers connect 1
 !
 address-family ipv4 unicast
  network 10.0.0.1/32 route-map railcni-rail0-0000000000000000000000000007
  neighbor rcvlan-0-101 soft-reconfiguration inbound
  neighbor rcvlan-0-101 route-map railcni-in in
  neighbor rcvlan-0-101 route-map railcni-rail0-out out
  neighbor rcvlan-0-101 maximum-prefix 1000 warning-only
  table-map railcni-nofib
 exit-address-family
 !
 address-family ipv6 unicast
  neighbor rcvlan-0-101 activate
  neighbor rcvlan-0-101 soft-reconfiguration inbound
  neighbor rcvlan-0-101 route-map railcni-in in
  neighbor rcvlan-0-101 route-map railcni-rail0-out out
  neighbor rcvlan-0-101 maximum-prefix 1000 warning-only
  table-map railcni-nofib
 exit-address-family
 bmp targets railcni
  bmp monitor ipv4 unicast pre-policy
  bmp monitor ipv6 unicast pre-policy
  bmp connect 127.1.0.101 port 11019 min-retry 100 max-retry 1000
 exit
exit
!
router bgp 4200000001 vrf railcni-0-102
 bgp router-id 10.255.0.1
 !
 address-family ipv4 unicast
  network 10.0.0.1/32 route-map railcni-rail0-0000000000000000000000000008
 exit-address-family
exit
!
router bgp 64500 vrf admins
 neighbor eth9 interface remote-as external
exit
!
bgp as-path access-list railcni-local seq 5 permit ^$
bgp large-community-list expanded railcni-any seq 5 permit _4200000000:
bgp large-community-list standard railcni-rail0-only seq 5 permit 4200000000:1375731712:0
!
route-map railcni-in permit 10
 match large-community railcni-any
exit
!
route-map railcni-nofib deny 10
 match large-community railcni-any
exit
!
route-map railcni-nofib permit 20
exit
!
route-map railcni-rail0-out permit 10
 match as-path railcni-local
 match large-community railcni-rail0-only
exit
!
route-map railcni-rail0-0000000000000000000000000007 permit 10
 set large-community 4200000000:1409286144:0 4200000000:1426063360:7 4200000000:1375731712:0
exit
!
end
)";

TEST(VrfConfig, EachInstanceIsReadByItself) {
  const RunningConfig running = ParseRunningConfig(kRunning);
  EXPECT_EQ(running.asn, 4200000001U);
  EXPECT_THAT(running.ipv4.networks, IsEmpty());
  ASSERT_EQ(running.vrfs.size(), 3U);
  EXPECT_EQ(running.Of("admins").asn, 64500U);
  EXPECT_EQ(running.Of("").asn, running.asn);
  EXPECT_FALSE(running.Of("nobodys").asn);
  ASSERT_NE(running.Of("railcni-0-101").FindNetwork(Ip("10.0.0.1")), nullptr);
  EXPECT_EQ(*running.Of("railcni-0-102").FindNetwork(Ip("10.0.0.1")),
            "railcni-rail0-0000000000000000000000000008");
}

TEST(VrfConfig, NothingIsMissingWhereAllIsThere) {
  const RunningConfig running = ParseRunningConfig(kRunning);
  EXPECT_THAT(PlanBase(running, kRed, Base()).value(), IsEmpty());
  const FeedTarget target(Ip("127.1.0.101"), 11019);
  const FeedPlan feed = PlanFeed(running, kRed, Base().rails, target).value();
  EXPECT_THAT(feed.block, IsEmpty());
  EXPECT_THAT(feed.lines, IsEmpty());
}

TEST(VrfConfig, WhatIsMissingIsSaidInTheInstanceOfItsVrf) {
  const RunningConfig running = ParseRunningConfig(kRunning);
  BaseConfig base = Base();
  base.rails[0].interface = "rcvlan-0-102";
  const auto lines = PlanBase(running, kBlue, base).value();
  EXPECT_EQ(lines.front(), "router bgp 4200000001 vrf railcni-0-102")
      << "the maps and lists are there already";
  EXPECT_THAT(lines, Contains("neighbor rcvlan-0-102 interface"));
  EXPECT_EQ(lines.back(), "neighbor rcvlan-0-102 remote-as external") << "the session comes last";
  const Identity green{4200000001, 4200000000, "railcni-0-103"};
  EXPECT_EQ(PlanBase(running, green, {Ip("10.255.0.1"), {}, 1000}).value().front(),
            "router bgp 4200000001 vrf railcni-0-103");
}

TEST(VrfConfig, TheDefaultInstanceComesFirst) {
  const auto lines = PlanBase(ParseRunningConfig(""), kRed, Base());
  ASSERT_FALSE(lines);
  EXPECT_EQ(lines.error().code, Code::kTransient) << lines.error().message;
}

TEST(VrfConfig, OneAddressOfTwoTenantsIsTwoAnnouncements) {
  const RunningConfig running = ParseRunningConfig(kRunning);
  EXPECT_THAT(AnnouncedIn(running, kRed),
              ElementsAre(Announcement{Ip("10.0.0.1"), "rail0", 0, tenancy::TenantId{0, 7}}));
  const auto of_blue = AnnouncedIn(running, kBlue);
  ASSERT_EQ(of_blue.size(), 1U);
  EXPECT_EQ(of_blue[0].tenant, (tenancy::TenantId{0, 8}));
  EXPECT_TRUE(of_blue[0].edited) << "its route-map is not there";
  EXPECT_THAT(AnnouncedIn(running, kDefault), IsEmpty());
  const auto lines = PlanAnnounce(running, kBlue, {{Ip("10.0.0.2"), "rail0", 0, {0, 8}}}).value();
  EXPECT_THAT(lines, Contains("router bgp 4200000001 vrf railcni-0-102"));
  const Identity none{4200000001, 4200000000, "railcni-0-103"};
  EXPECT_EQ(PlanAnnounce(running, none, {{Ip("10.0.0.2"), "rail0", 0, {0, 8}}}).error().code,
            Code::kTransient);
}

TEST(VrfConfig, RemovalTakesOurInstancesAndNobodyElses) {
  const std::vector<std::string> interfaces{"br-rail0"};
  const auto lines =
      PlanRemoval(ParseRunningConfig(kRunning), interfaces, {.base = true, .before = std::nullopt});
  EXPECT_THAT(lines, Contains("no router bgp 4200000001 vrf railcni-0-101"));
  EXPECT_THAT(lines, Contains("no router bgp 4200000001 vrf railcni-0-102"));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("admins"))));
}

TEST(VrfConfig, OnlyTheExactNameIsOurs) {
  for (const char* ours : {"railcni-0-1", "railcni-0-101", "railcni-99-4094"})
    EXPECT_TRUE(IsOurVrf(ours)) << ours;
  for (const char* not_ours :
       {"", "admins", "railcni-", "railcni-mgmt", "railcni-0", "railcni-0-", "railcni--1", "railcni-0-0",
        "railcni-0-4095", "railcni-100-1", "railcni-00-1", "railcni-0-01", "railcni-0-1x", "railcni-0-1-1"})
    EXPECT_FALSE(IsOurVrf(not_ours)) << not_ours;
  const auto lines = PlanRemoval(ParseRunningConfig("router bgp 64500 vrf railcni-mgmt\nexit\n!\n"), {},
                                 {.base = true, .before = std::nullopt});
  EXPECT_THAT(lines, Not(Contains(HasSubstr("railcni-mgmt"))));
}

TEST(VrfConfig, BmpConnectionsOfOurInstancesRestBeforeTheyAreRemoved) {
  const std::string connects =
      " bmp targets railcni\n  bmp monitor ipv4 unicast pre-policy\n  bmp connect 127.1.0.101 port 11019 "
      "min-retry "
      "100 max-retry 1000\n exit\n bmp targets admins\n  bmp connect 192.0.2.1 port 1 min-retry 1000 "
      "max-retry "
      "2000\n exit\nexit\n!\n";
  const RunningConfig running =
      ParseRunningConfig("router bgp 4200000001\n" + connects + "router bgp 4200000001 vrf railcni-0-101\n" +
                         connects + "router bgp 4200000001 vrf admins\n" + connects);
  const std::vector<std::string> of_red{
      "router bgp 4200000001 vrf railcni-0-101", "bmp targets railcni",
      "bmp connect 127.1.0.101 port 11019 min-retry 86400000 max-retry 86400000", "exit", "exit"};
  EXPECT_EQ(PlanRest(running, "railcni-0-101"), of_red);
  EXPECT_EQ(PlanRest(running, "railcni-0-102"), std::vector<std::string>());
  std::vector<std::string> all = of_red;
  all[0] = "router bgp 4200000001";
  EXPECT_EQ(PlanRest(running, ""), all);
  all.insert(all.end(), of_red.begin(), of_red.end());
  EXPECT_EQ(PlanRest(running), all);
}

TEST(VrfConfig, SessionsOfAllInstancesAreRead) {
  const std::string summary = R"({"default":{}
,"railcni-0-101":{"ipv4Unicast":{"peers":{"rcvlan-0-101":{"state":"Established","idType":"interface","pfxRcd":2,"pfxSnt":1}}}}
,"railcni-0-102":{"ipv4Unicast":{"peers":{"rcvlan-0-102":{"state":"Idle","idType":"interface"}}}}})";
  auto sessions = DecodeAllSessions(summary).value();
  ASSERT_EQ(sessions.size(), 2U);
  EXPECT_TRUE(sessions[0].established());
  EXPECT_EQ(sessions[0].prefixes_received, 2U);
  const std::string neighbors = R"({"default":{"vrfId":0,"vrfName":"default"}
,"railcni-0-101":{"vrfId":6,"vrfName":"railcni-0-101","rcvlan-0-101":{"bgpNeighborAddr":"fe80::1","remoteAs":64512,"remoteRouterId":"10.255.1.1"}}
,"railcni-0-102":{"vrfId":8,"vrfName":"railcni-0-102","rcvlan-0-102":{"bgpNeighborAddr":"none"}}})";
  ASSERT_TRUE(DecodeAllNeighbors(neighbors, sessions));
  EXPECT_EQ(sessions[0].peer, Ip("fe80::1"));
  EXPECT_EQ(sessions[0].leaf->asn, 64512U);
  EXPECT_FALSE(sessions[1].peer);
  EXPECT_FALSE(DecodeAllSessions("[]"));
}

}  // namespace
}  // namespace rail::frr
