#include "lib/frr/base_removal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rail::frr {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// What bgpd 8.4.4 prints when raild runs and one pod is announced.
const std::string kInstance = R"(router bgp 4200000001
 bgp router-id 10.255.0.1
 bgp graceful-restart
 bgp graceful-restart preserve-fw-state
 no bgp network import-check
 coalesce-time 100
 neighbor br-rail0 interface remote-as external
 neighbor br-rail0 timers 3 9
 neighbor br-rail0 timers connect 1
 !
 address-family ipv4 unicast
  network 10.0.3.7/32 route-map railcni-rail0-0000000000000000000000000007
  neighbor br-rail0 soft-reconfiguration inbound
  neighbor br-rail0 route-map railcni-in in
  neighbor br-rail0 route-map railcni-rail0-out out
  table-map railcni-nofib
 exit-address-family
 !
 bmp targets railcni
  bmp monitor ipv4 unicast pre-policy
 exit
)";
const std::string kNames = R"(!
bgp as-path access-list railcni-local seq 5 permit ^$
!
bgp large-community-list expanded railcni-any seq 5 permit _4200000000:
bgp large-community-list standard railcni-rail0-only seq 5 permit 4200000000:1375731712:0
bgp large-community-list standard theirs seq 5 permit 1:2:3
!
route-map railcni-in permit 10
 match large-community railcni-any
exit
!
route-map railcni-rail0-0000000000000000000000000007 permit 10
 set large-community 4200000000:1:7
exit
!
route-map theirs permit 10
exit
)";
const std::string kOurs = kInstance + "exit\n" + kNames;
const std::vector<std::string> kRails{"br-rail0"};

std::vector<std::string> Plan(const std::string& now, const Removal& removal) {
  return PlanRemoval(ParseRunningConfig(now), kRails, removal);
}
Removal After(const std::string& before) {
  return {.base = true, .before = LookBefore(ParseRunningConfig(before), kRails)};
}

TEST(BaseRemoval, RemovesTheInstanceThatWasNotThere) {
  EXPECT_THAT(Plan(kOurs, After("")), ElementsAre("no router bgp 4200000001", "no route-map railcni-in",
                                                  "no route-map railcni-rail0-0000000000000000000000000007",
                                                  "no bgp as-path access-list railcni-local",
                                                  "no bgp large-community-list expanded railcni-any",
                                                  "no bgp large-community-list standard railcni-rail0-only"));
}

TEST(BaseRemoval, LeavesAnInstanceInWhichOthersHaveWrittenSince) {
  for (const char* theirs :
       {" neighbor 192.0.2.1 remote-as 65000\n",
        " address-family ipv4 unicast\n  network 192.0.2.0/24\n  redistribute static\n exit-address-family\n",
        " address-family l2vpn evpn\n  advertise-all-vni\n exit-address-family\n",
        " bmp targets theirs\n  bmp monitor ipv4 unicast pre-policy\n exit\n"}) {
    const auto lines = Plan(kInstance + theirs + "exit\n" + kNames, After(""));
    EXPECT_THAT(lines, Not(Contains("no router bgp 4200000001"))) << theirs;
    EXPECT_THAT(lines, Not(Contains(HasSubstr("192.0.2")))) << theirs;
    for (const char* gone : {"no network 10.0.3.7/32 route-map railcni-rail0-0000000000000000000000000007",
                             "no neighbor br-rail0 interface", "no table-map railcni-nofib",
                             "no bmp targets railcni", "no bgp router-id 10.255.0.1",
                             "no bgp graceful-restart", "bgp network import-check", "no coalesce-time 100"})
      EXPECT_THAT(lines, Contains(gone)) << theirs;
  }
}

TEST(BaseRemoval, RestoresWhatTheInstanceHadBefore) {
  const std::string before = R"(router bgp 4200000001
 bgp router-id 192.0.2.9
 bgp graceful-restart
 neighbor 192.0.2.1 remote-as 65000
exit
)";
  const auto lines = Plan(kOurs, After(before));
  EXPECT_THAT(lines, Contains("bgp router-id 192.0.2.9"));
  EXPECT_THAT(lines, Not(Contains("no bgp graceful-restart")));
  EXPECT_THAT(lines, Contains("no bgp graceful-restart preserve-fw-state"));
  EXPECT_THAT(lines, Contains("no neighbor br-rail0 interface"));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("192.0.2.1"))));
}

TEST(BaseRemoval, GivesANeighborBackThatWasThere) {
  const std::string before = R"(router bgp 4200000001
 neighbor br-rail0 interface remote-as external
 neighbor br-rail0 password secret
 address-family ipv4 unicast
  neighbor br-rail0 route-map theirs in
 exit-address-family
exit
)";
  const Removal removal = After(before);
  EXPECT_THAT(removal.before->lines, Not(Contains(HasSubstr("secret"))));
  const auto lines = Plan(kOurs, removal);
  EXPECT_THAT(lines, Not(Contains("no neighbor br-rail0 interface")));
  EXPECT_THAT(lines, Contains("no neighbor br-rail0 timers 3 9"));
  EXPECT_THAT(lines, Contains("no neighbor br-rail0 soft-reconfiguration inbound"));
  EXPECT_THAT(lines, Contains("no neighbor br-rail0 route-map railcni-in in"));
  EXPECT_THAT(lines, Contains("neighbor br-rail0 route-map theirs in"));
}

TEST(BaseRemoval, RemovesOnlyWhatCarriesOurNamesWhenNobodyKnowsWhatWasThere) {
  const Removal removal = After(kOurs);
  EXPECT_FALSE(removal.before->known);
  const auto lines = Plan(kOurs, removal);
  EXPECT_THAT(lines, Not(Contains(HasSubstr("interface"))));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("router-id"))));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("theirs"))));
  EXPECT_THAT(lines, Contains("no neighbor br-rail0 route-map railcni-rail0-out out"));
  EXPECT_THAT(lines, Contains("no bmp targets railcni"));
  EXPECT_THAT(lines, Contains("no route-map railcni-in"));
}

TEST(BaseRemoval, RemovesAnnouncementsAloneWhereTheOperatorKeepsTheBase) {
  EXPECT_THAT(
      Plan(kOurs, {}),
      ElementsAre("router bgp 4200000001", "address-family ipv4 unicast",
                  "no network 10.0.3.7/32 route-map railcni-rail0-0000000000000000000000000007",
                  "exit-address-family", "exit", "no route-map railcni-rail0-0000000000000000000000000007"));
}

TEST(BaseRemoval, RemovesNothingTwice) {
  EXPECT_THAT(Plan("", After("")), IsEmpty());
  const std::string theirs = "router bgp 65001\n neighbor 192.0.2.1 remote-as 65000\nexit\n";
  EXPECT_THAT(Plan(theirs, After(theirs)), IsEmpty());
}

TEST(BaseRemoval, LooksAtARailOnceAndKeepsWhatItSawFirst) {
  BaseBefore first = LookBefore(ParseRunningConfig(""), {"br-rail0"});
  Merge(first, LookBefore(ParseRunningConfig("router bgp 65001\n neighbor br-rail0 interface\n"
                                             " neighbor br-rail1 interface\nexit\n"),
                          {"br-rail0", "br-rail1"}));
  EXPECT_FALSE(first.asn);
  EXPECT_THAT(first.lines, ElementsAre("neighbor br-rail1 interface"));
  EXPECT_THAT(first.interfaces, ElementsAre("br-rail0", "br-rail1"));
}

}  // namespace
}  // namespace rail::frr
