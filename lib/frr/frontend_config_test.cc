#include "lib/frr/frontend_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lib/frr/base_removal.h"
#include "lib/frr/show.h"
#include "lib/frr/zebra.h"

namespace rail::frr {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const Identity kIdentity{4200000001, 4200000000};

Frontend Wanted() {
  return {.links = {"mgmt1", "mgmt2"},
          .addresses = {*IpAddress::Parse("192.0.2.11"), *IpAddress::Parse("2001:db8::11")},
          .accept = {*IpPrefix::Parse("0.0.0.0/0"), *IpPrefix::Parse("198.51.100.0/24"),
                     *IpPrefix::Parse("::/0")}};
}

// What bgpd 8.4.4 prints when all of Wanted() is in force.
const std::string kComplete = R"(router bgp 4200000001
 bgp router-id 10.255.0.1
 bgp bestpath as-path multipath-relax
 neighbor mgmt1 interface remote-as external
 neighbor mgmt1 timers 3 9
 neighbor mgmt1 timers connect 1
 neighbor mgmt2 interface remote-as external
 neighbor mgmt2 timers 3 9
 neighbor mgmt2 timers connect 1
 !
 address-family ipv4 unicast
  network 192.0.2.11/32 route-map railcni-frontend_own
  neighbor mgmt1 route-map railcni-frontend_in4 in
  neighbor mgmt1 route-map railcni-frontend_out4 out
  neighbor mgmt2 route-map railcni-frontend_in4 in
  neighbor mgmt2 route-map railcni-frontend_out4 out
 exit-address-family
 !
 address-family ipv6 unicast
  network 2001:db8::11/128 route-map railcni-frontend_own
  neighbor mgmt1 activate
  neighbor mgmt1 route-map railcni-frontend_in6 in
  neighbor mgmt1 route-map railcni-frontend_out6 out
  neighbor mgmt2 activate
  neighbor mgmt2 route-map railcni-frontend_in6 in
  neighbor mgmt2 route-map railcni-frontend_out6 out
 exit-address-family
exit
!
ip prefix-list railcni-frontend_accept seq 5 permit 0.0.0.0/0
ip prefix-list railcni-frontend_accept seq 10 permit 198.51.100.0/24 le 32
ip prefix-list railcni-frontend_own seq 5 permit 192.0.2.11/32
!
ipv6 prefix-list railcni-frontend_accept seq 5 permit ::/0
ipv6 prefix-list railcni-frontend_own seq 5 permit 2001:db8::11/128
!
bgp as-path access-list railcni-local seq 5 permit ^$
!
bgp large-community-list expanded railcni-any seq 5 permit _4200000000:
!
route-map railcni-frontend_own permit 10
exit
!
route-map railcni-frontend_in4 deny 5
 match large-community railcni-any
exit
!
route-map railcni-frontend_in4 permit 10
 match ip address prefix-list railcni-frontend_accept
exit
!
route-map railcni-frontend_in6 deny 5
 match large-community railcni-any
exit
!
route-map railcni-frontend_in6 permit 10
 match ipv6 address prefix-list railcni-frontend_accept
exit
!
route-map railcni-frontend_out4 permit 10
 match as-path railcni-local
 match ip address prefix-list railcni-frontend_own
exit
!
route-map railcni-frontend_out6 permit 10
 match as-path railcni-local
 match ipv6 address prefix-list railcni-frontend_own
exit
)";

std::string Without(std::string text, const std::string& line) {
  const size_t at = text.find(line + "\n");
  EXPECT_NE(at, std::string::npos) << line;
  return text.erase(text.rfind('\n', at) + 1, line.size() + 1 + (at - text.rfind('\n', at) - 1));
}

std::vector<std::string> Plan(const std::string& text, const Frontend& wanted = Wanted()) {
  const auto lines = PlanFrontend(ParseRunningConfig(text), kIdentity, wanted);
  EXPECT_TRUE(lines) << lines.error().message;
  return lines.value_or(std::vector<std::string>{"failed"});
}

TEST(Frontend, SendsNothingWhenAllIsThere) {
  EXPECT_THAT(Plan(kComplete), IsEmpty());
}

TEST(Frontend, ComesInAnOrderThatTellsNobodyTooMuch) {
  const auto lines = Plan("router bgp 4200000001\n bgp router-id 10.255.0.1\nexit\n");
  const auto at = [&](const std::string& line) {
    const auto it = std::ranges::find(lines, line);
    EXPECT_NE(it, lines.end()) << line;
    return it - lines.begin();
  };
  const auto up = at("neighbor mgmt1 remote-as external");
  for (const char* before :
       {"ip prefix-list railcni-frontend_own seq 5 permit 192.0.2.11/32",
        "match ip address prefix-list railcni-frontend_own", "match as-path railcni-local",
        "network 192.0.2.11/32 route-map railcni-frontend_own",
        "network 2001:db8::11/128 route-map railcni-frontend_own",
        "neighbor mgmt1 route-map railcni-frontend_out4 out",
        "neighbor mgmt1 route-map railcni-frontend_in6 in"})
    EXPECT_LT(at(before), up) << before;
}

TEST(Frontend, PutsBackWhatSomebodyHasRemoved) {
  EXPECT_THAT(
      Plan(Without(kComplete, "  neighbor mgmt2 route-map railcni-frontend_out4 out")),
      ElementsAre("router bgp 4200000001", "address-family ipv4 unicast",
                  "neighbor mgmt2 route-map railcni-frontend_out4 out", "exit-address-family", "exit"));
  EXPECT_THAT(Plan(Without(kComplete, "ip prefix-list railcni-frontend_accept seq 5 permit 0.0.0.0/0")),
              ElementsAre("ip prefix-list railcni-frontend_accept seq 5 permit 0.0.0.0/0"));
  EXPECT_THAT(Plan(kComplete + "ip prefix-list railcni-frontend_own seq 10 permit 0.0.0.0/0 le 32\n"),
              ElementsAre("no ip prefix-list railcni-frontend_own",
                          "ip prefix-list railcni-frontend_own seq 5 permit 192.0.2.11/32"));
}

TEST(Frontend, RemovesWhatNodeJsonNoLongerNames) {
  Frontend wanted = Wanted();
  wanted.links = {"mgmt1", "mgmt3"};
  wanted.addresses[0] = *IpAddress::Parse("192.0.2.12");
  const auto lines = Plan(kComplete, wanted);
  EXPECT_THAT(lines, Contains("no neighbor mgmt2 interface"));
  EXPECT_THAT(lines, Not(Contains("no neighbor mgmt1 interface")));
  EXPECT_THAT(lines, Contains("no network 192.0.2.11/32 route-map railcni-frontend_own"));
  EXPECT_THAT(lines, Contains("network 192.0.2.12/32 route-map railcni-frontend_own"));
  const auto off = Plan(kComplete, {});
  EXPECT_THAT(off, Contains("no neighbor mgmt1 interface"));
  EXPECT_THAT(off, Contains("no route-map railcni-frontend_out4"));
  EXPECT_THAT(off, Contains("no ipv6 prefix-list railcni-frontend_accept"));
  EXPECT_THAT(off, Not(Contains(HasSubstr("railcni-any")))) << "the rails have it, too";
  EXPECT_THAT(Plan("router bgp 4200000001\n neighbor mgmt1 interface remote-as external\nexit\n", {}),
              IsEmpty())
      << "somebody else's";
}

TEST(Frontend, BfdComesAndGoes) {
  Frontend wanted = Wanted();
  wanted.bfd = Frontend::Bfd::kOn;
  EXPECT_THAT(Plan(kComplete, wanted),
              ElementsAre("router bgp 4200000001", "neighbor mgmt1 bfd", "neighbor mgmt2 bfd", "exit"));
  std::string with = kComplete;
  with.insert(with.find(" neighbor mgmt2 interface"), " neighbor mgmt1 bfd\n");
  EXPECT_THAT(Plan(with), ElementsAre("router bgp 4200000001", "no neighbor mgmt1 bfd", "exit"));
  wanted.bfd = Frontend::Bfd::kUnchanged;
  EXPECT_THAT(Plan(with, wanted), IsEmpty());
}

TEST(Frontend, LeavesAloneWhatIsSomebodyElses) {
  const auto fails = [](const std::string& text, const char* words) {
    const auto lines = PlanFrontend(ParseRunningConfig(text), kIdentity, Wanted());
    ASSERT_FALSE(lines) << text;
    EXPECT_THAT(lines.error().message, HasSubstr(words));
  };
  fails("router bgp 65000\nexit\n", "bgpd runs as AS 65000, node.json says bgp.asn 4200000001");
  fails("router bgp 4200000001\n neighbor mgmt1 interface peer-group MINE\nexit\n",
        "take mgmt1 out of frontend.links");
  fails(
      "router bgp 4200000001\n address-family ipv4 unicast\n  network 192.0.2.11/32\n "
      "exit-address-family\nexit\n",
      "take the address out of frontend.addresses");
}

TEST(Frontend, IsRemovedWholly) {
  const std::string before_text =
      "router bgp 4200000001\n bgp router-id 10.255.0.1\n neighbor 192.0.2.1 remote-as 65000\nexit\n";
  const std::vector<std::string> links = {"br-rail0", "mgmt1", "mgmt2"};
  const BaseBefore before = LookBefore(ParseRunningConfig(before_text), links);
  const auto lines = PlanRemoval(ParseRunningConfig(kComplete), links, {.base = true, .before = before});
  for (const char* line :
       {"no neighbor mgmt1 interface", "no neighbor mgmt2 interface",
        "no bgp bestpath as-path multipath-relax", "no network 192.0.2.11/32 route-map railcni-frontend_own",
        "no route-map railcni-frontend_own", "no ip prefix-list railcni-frontend_own",
        "no ipv6 prefix-list railcni-frontend_accept"})
    EXPECT_THAT(lines, Contains(line));
}

TEST(Frontend, APodMayNotHaveTheNodesAddress) {
  const auto lines = PlanAnnounce(ParseRunningConfig(kComplete), kIdentity,
                                  {{*IpAddress::Parse("192.0.2.11"), "rail0", 0, {0, 7}}});
  ASSERT_FALSE(lines);
  EXPECT_THAT(lines.error().message, HasSubstr("is the node's own"));
  EXPECT_THAT(AnnouncedIn(ParseRunningConfig(kComplete), {4200000001, 4200000000}), IsEmpty());
}

TEST(Frontend, ARailTakesNothingThatTheFrontEndTakes) {
  const BaseConfig base{*IpAddress::Parse("10.255.0.1"), {{"rail0", 0, "br-rail0"}}, 1000, true};
  const auto lines = PlanBase(ParseRunningConfig(""), kIdentity, base);
  ASSERT_TRUE(lines);
  EXPECT_THAT(*lines, Contains("route-map railcni-in deny 3"));
  EXPECT_THAT(*lines, Contains("match ip address prefix-list railcni-frontend_accept"));
}

TEST(Advertised, IsRead) {
  const auto told = DecodeAdvertised(
      R"({"bgpTableVersion":4,"advertisedRoutes":{"192.0.2.1/32":{"addrPrefix":"192.0.2.1"}}})");
  ASSERT_TRUE(told);
  EXPECT_THAT(*told, ElementsAre(*IpPrefix::Parse("192.0.2.1/32")));
  EXPECT_THAT(*DecodeAdvertised("{}"), IsEmpty());
  EXPECT_FALSE(DecodeAdvertised("no json"));
}

TEST(DecodeVersion, IsTheNumberOfFrrouting) {
  EXPECT_EQ(DecodeVersion("FRRouting 10.3 (gpu-1) on Linux(6.12.41).\nCopyright 1996-2005\n"), "10.3");
  EXPECT_EQ(DecodeVersion("FRRouting 8.4.4 (gpu-1) on Linux(6.1.0-37-amd64).\n"), "8.4.4");
  EXPECT_EQ(DecodeVersion("FRRouting 10.6-dev (gpu-1)"), "10.6");
  EXPECT_EQ(DecodeVersion("Quagga 1.2.4"), "");
}

TEST(LosesNextHops, IsKnownByTheVersion) {
  for (const char* version : {"7.5", "8.4.4", "8.5.3", "9.0", "9.0.5", "10.2", "10.3", "10.7.1", "11.0"})
    EXPECT_TRUE(LosesNextHops(version)) << version;
  for (const char* version : {"", "9.1", "9.1.3", "9.10", "10", "10.0.5", "10.1"})
    EXPECT_FALSE(LosesNextHops(version)) << version;
}

}  // namespace
}  // namespace rail::frr
