#include "lib/frr/base_config.h"

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

const Identity kIdentity{4200000001, 4200000000};

IpAddress Ip(const char* text) {
  return *IpAddress::Parse(text);
}
BaseConfig Base() {
  return {Ip("10.255.0.1"), {{"rail0", 0, "br-rail0"}}, 256000};
}
Announcement Pod(const char* address, uint64_t tenant) {
  return {Ip(address), "rail0", 0, {0, tenant}};
}

// What bgpd 8.4.4 prints when all of Base() is in force.
const std::string kComplete = R"(router bgp 4200000001
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
  neighbor br-rail0 route-map railcni-in in
  neighbor br-rail0 route-map railcni-rail0-out out
  neighbor br-rail0 maximum-prefix 256000 warning-only
  table-map railcni-nofib
 exit-address-family
 !
 address-family ipv6 unicast
  neighbor br-rail0 activate
  neighbor br-rail0 route-map railcni-in in
  neighbor br-rail0 route-map railcni-rail0-out out
  neighbor br-rail0 maximum-prefix 256000 warning-only
  table-map railcni-nofib
 exit-address-family
exit
!
bgp as-path access-list railcni-local seq 5 permit ^$
!
bgp large-community-list expanded railcni-any seq 5 permit _4200000000:
bgp large-community-list standard railcni-rail0-only seq 5 permit 4200000000:1375731712:0
!
route-map railcni-nofib deny 10
 match large-community railcni-any
exit
!
route-map railcni-nofib permit 20
exit
!
route-map railcni-in permit 10
 match large-community railcni-any
exit
!
route-map railcni-rail0-out permit 10
 match large-community railcni-rail0-only
 match as-path railcni-local
exit
!
route-map railcni-rail0-0000000000000000000000000007 permit 10
 set large-community 4200000000:1409286144:0 4200000000:1426063360:7 4200000000:1375731712:0
exit
)";

std::string Without(const std::string& line) {
  std::string text = kComplete;
  const size_t at = text.find(line + "\n");
  EXPECT_NE(at, std::string::npos) << line;
  return text.erase(at, line.size() + 1);
}
std::string With(const std::string& after, const std::string& line) {
  std::string text = kComplete;
  const size_t at = text.find(after + "\n");
  EXPECT_NE(at, std::string::npos) << after;
  return text.insert(at + after.size() + 1, line + "\n");
}
std::vector<std::string> Plan(const std::string& running) {
  const auto lines = PlanBase(ParseRunningConfig(running), kIdentity, Base());
  EXPECT_TRUE(lines) << lines.error().message;
  return lines ? *lines : std::vector<std::string>{};
}
Error Refusal(const std::string& running, const BaseConfig& base = Base()) {
  const auto lines = PlanBase(ParseRunningConfig(running), kIdentity, base);
  EXPECT_FALSE(lines);
  return lines ? Error{} : lines.error();
}

TEST(PlanBase, SendsNothingWhenAllIsThere) {
  EXPECT_THAT(Plan(kComplete), IsEmpty());
}

TEST(PlanBase, StartsTheNeighborLast) {
  const auto lines = Plan("");
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back(), "neighbor br-rail0 remote-as external");
  EXPECT_THAT(lines, Contains("router bgp 4200000001"));
  EXPECT_THAT(lines, Not(Contains("neighbor br-rail0 interface remote-as external")));
}

TEST(PlanBase, NeverTouchesThePolicyOfTheInstance) {
  EXPECT_THAT(Plan(""), Not(Contains(HasSubstr("ebgp-requires-policy"))));
}

TEST(PlanBase, BoundsALeafsPrefixesWithoutEndingItsSession) {
  const std::string bound = "neighbor br-rail0 maximum-prefix 256000 warning-only";
  EXPECT_THAT(Plan(""), Contains(bound));
  const auto with = [](const std::string& line) {
    std::string text = kComplete;
    const std::string ours = "  neighbor br-rail0 maximum-prefix 256000 warning-only\n";
    for (size_t at = text.find(ours); at != std::string::npos; at = text.find(ours))
      text.replace(at, ours.size(), line.empty() ? "" : "  " + line + "\n");
    return Plan(text);
  };
  EXPECT_THAT(with(""), Contains(bound).Times(2)) << "once for each family";
  EXPECT_THAT(with("neighbor br-rail0 maximum-prefix 1000 warning-only"), Contains(bound).Times(2));
  EXPECT_THAT(with("neighbor br-rail0 maximum-prefix 1000 90 restart 5"), IsEmpty()) << "the operator's own";
  EXPECT_THAT(with("neighbor br-rail0 maximum-prefix 1000"), IsEmpty()) << "the operator's own";
}

TEST(PlanBase, SaysToTheLeafOfWhichClusterTheNodeIs) {
  BaseConfig base = Base();
  base.cluster = {4200000000, 0x4b000001, 2};
  const std::string line = "set large-community 4200000000:1258291201:2 additive";
  const auto plan = [&](const std::string& running) {
    return PlanBase(ParseRunningConfig(running), kIdentity, base).value();
  };
  EXPECT_THAT(plan(kComplete), ElementsAre("route-map railcni-rail0-out permit 10", line));
  std::string told = kComplete;
  const std::string last = " match as-path railcni-local\n";
  told.insert(told.find(last) + last.size(), " " + line + "\n");
  EXPECT_THAT(plan(told), IsEmpty());
  base.cluster->second = 3;
  EXPECT_THAT(plan(told), Contains("set large-community 4200000000:1258291201:3 additive"));
  EXPECT_THAT(plan(told), Contains("no route-map railcni-rail0-out permit 10"));
  EXPECT_THAT(Plan(told), Contains("no route-map railcni-rail0-out permit 10"))
      << "who does not know it any more";
}

TEST(PlanBase, SendsOnlyTheMissingLine) {
  EXPECT_THAT(Plan(Without(" bgp graceful-restart preserve-fw-state")),
              ElementsAre("router bgp 4200000001", "bgp graceful-restart preserve-fw-state"));
  EXPECT_THAT(Plan(Without("  neighbor br-rail0 activate")),
              ElementsAre("router bgp 4200000001", "address-family ipv6 unicast",
                          "neighbor br-rail0 activate", "exit-address-family"));
  EXPECT_THAT(Plan(Without(" match as-path railcni-local")),
              ElementsAre("route-map railcni-rail0-out permit 10", "match as-path railcni-local"));
  EXPECT_THAT(Plan(Without("bgp as-path access-list railcni-local seq 5 permit ^$")),
              ElementsAre("bgp as-path access-list railcni-local seq 5 permit ^$"));
}

TEST(PlanBase, KeepsTheOperatorsCoalesceTime) {
  EXPECT_THAT(Plan(Without(" coalesce-time 100")), ElementsAre("router bgp 4200000001", "coalesce-time 100"));
  std::string theirs = Without(" coalesce-time 100");
  theirs.insert(theirs.find(" neighbor br-rail0 interface"), " coalesce-time 500\n");
  EXPECT_THAT(Plan(theirs), IsEmpty());
}

TEST(PlanBase, UndoesWhatWasSwitchedOff) {
  EXPECT_THAT(Plan(With("  table-map railcni-nofib", "  no neighbor br-rail0 activate")),
              ElementsAre("router bgp 4200000001", "address-family ipv4 unicast",
                          "neighbor br-rail0 activate", "exit-address-family"));
  EXPECT_THAT(Plan(With("  table-map railcni-nofib", "  no neighbor br-rail0 send-community large")),
              Contains("neighbor br-rail0 send-community all"));
}

TEST(PlanBase, ActivatesIpv4WhereItIsNotTheDefault) {
  EXPECT_THAT(Plan(With(" bgp router-id 10.255.0.1", " no bgp default ipv4-unicast")),
              ElementsAre("router bgp 4200000001", "address-family ipv4 unicast",
                          "neighbor br-rail0 activate", "exit-address-family"));
}

TEST(PlanBase, ReplacesAListOfAnotherCommunityAsn) {
  EXPECT_THAT(Plan(With("bgp large-community-list expanded railcni-any seq 5 permit _4200000000:",
                        "bgp large-community-list expanded railcni-any seq 10 permit _1:")),
              ElementsAre("no bgp large-community-list expanded railcni-any",
                          "bgp large-community-list expanded railcni-any seq 5 permit _4200000000:"));
}

TEST(PlanBase, RemovesWhatSomebodyAddsToItsRouteMaps) {
  for (const char* entry : {"railcni-rail0-out permit 5", "railcni-rail0-out deny 5", "railcni-in deny 5",
                            "railcni-nofib permit 5"}) {
    const std::string line = std::string("route-map ") + entry;
    const std::string end = line.substr(0, line.find(' ', 10)) + " deny 65535";
    EXPECT_THAT(Plan(kComplete + line + "\nexit\n"), ElementsAre(end, "no " + line, "no " + end));
  }
  EXPECT_THAT(Plan(kComplete + "route-map operator permit 5\nexit\n"), IsEmpty());
  EXPECT_THAT(Plan(kComplete + "route-map railcni-rail9-out permit 5\nexit\n"), IsEmpty());
}

TEST(PlanBase, MakesAnEntryAnewThatSomebodyHasEdited) {
  const std::vector<std::string> anew{
      "route-map railcni-rail0-out deny 65535",   "no route-map railcni-rail0-out permit 10",
      "route-map railcni-rail0-out deny 10",  // until it says what it permits
      "match large-community railcni-rail0-only", "match as-path railcni-local",
      "route-map railcni-rail0-out permit 10",    "no route-map railcni-rail0-out deny 65535"};
  EXPECT_EQ(Plan(With(" match as-path railcni-local", " match ip address theirs")), anew);
  EXPECT_EQ(Plan(With(" match as-path railcni-local", " on-match next")), anew);
  std::string other = kComplete;
  other.replace(other.find("rail0-out permit 10"), 19, "rail0-out deny 10");
  std::vector<std::string> turned = anew;
  turned[1] = "no route-map railcni-rail0-out deny 10";
  EXPECT_EQ(Plan(other), turned);
}

TEST(PlanBase, NeverResetsSessionsByANewRouterId) {
  EXPECT_THAT(Plan(Without(" bgp router-id 10.255.0.1")), IsEmpty());
  BaseConfig other = Base();
  other.router_id = Ip("10.255.0.2");
  EXPECT_EQ(Refusal(kComplete, other).code, Code::kInvalid);
}

TEST(PlanBase, RefusesWhatBelongsToSomebodyElse) {
  EXPECT_EQ(Refusal("router bgp 65001\n").code, Code::kInvalid);
  EXPECT_EQ(Refusal("router bgp 4200000001\n neighbor br-rail0 interface peer-group FABRIC\n").code,
            Code::kExists);
  const Error error = Refusal("router bgp 4200000001\n address-family ipv4 unicast\n  table-map operator\n");
  EXPECT_EQ(error.code, Code::kExists);
  EXPECT_THAT(error.message, HasSubstr("table-map operator"));
}

TEST(PlanBase, RefusesNamesThatAreNoWords) {
  BaseConfig base = Base();
  base.rails[0].interface = "br-rail0 shutdown";
  EXPECT_EQ(Refusal(kComplete, base).code, Code::kInvalid);
}

// The block as bgpd prints it, inside of the instance.
std::string WithFeed(const std::string& monitor, const std::string& port) {
  std::string text = kComplete;
  const std::string exit = "exit\n!\nbgp as-path";
  text.insert(
      text.find(exit),
      " !\n bmp targets operator\n  bmp monitor ipv4 unicast pre-policy\n exit\n !\n bmp targets railcni\n"
      "  bmp monitor ipv4 unicast " +
          monitor +
          "\n  bmp monitor ipv6 unicast pre-policy\n"
          "  bmp connect 127.0.0.1 port " +
          port + " min-retry 100 max-retry 1000\n exit\n!\n");
  for (size_t at = 0;
       (at = text.find("  neighbor br-rail0 route-map railcni-in in\n", at)) != std::string::npos; at += 80)
    text.insert(at, "  neighbor br-rail0 soft-reconfiguration inbound\n");
  return text;
}

FeedPlan Feed(const std::string& running) {
  const auto plan = PlanFeed(ParseRunningConfig(running), kIdentity, Base().rails, 11019);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan.value_or(FeedPlan{});
}

TEST(PlanFeed, KeepsWhatNeighborsSendAndPushesIt) {
  const FeedPlan plan = Feed(kComplete);
  EXPECT_THAT(plan.block, ElementsAre("router bgp 4200000001", "bmp targets railcni"));
  EXPECT_THAT(plan.lines,
              ElementsAre("router bgp 4200000001", "address-family ipv4 unicast",
                          "neighbor br-rail0 soft-reconfiguration inbound", "exit-address-family",
                          "address-family ipv6 unicast", "neighbor br-rail0 soft-reconfiguration inbound",
                          "exit-address-family", "bmp targets railcni", "bmp monitor ipv4 unicast pre-policy",
                          "bmp monitor ipv6 unicast pre-policy",
                          "bmp connect 127.0.0.1 port 11019 min-retry 100 max-retry 1000", "exit"));
}

TEST(PlanFeed, SendsNothingWhenAllIsThere) {
  const FeedPlan plan = Feed(WithFeed("pre-policy", "11019"));
  EXPECT_THAT(plan.block, IsEmpty());
  EXPECT_THAT(plan.lines, IsEmpty());
}

TEST(PlanFeed, MakesItsBlockAnewWhenItSaysSomethingElse) {
  for (const std::string& other : {WithFeed("post-policy", "11019"), WithFeed("pre-policy", "1790")}) {
    const FeedPlan plan = Feed(other);
    EXPECT_THAT(plan.block, ElementsAre("router bgp 4200000001", "no bmp targets railcni",
                                        "router bgp 4200000001", "bmp targets railcni"));
    EXPECT_THAT(plan.lines, Contains("bmp connect 127.0.0.1 port 11019 min-retry 100 max-retry 1000"));
    EXPECT_THAT(plan.lines, Not(Contains(HasSubstr("soft-reconfiguration"))));
    EXPECT_THAT(plan.lines, Not(Contains(HasSubstr("operator"))));
  }
}

TEST(PlanFeed, NeedsAnInstance) {
  EXPECT_EQ(PlanFeed(RunningConfig{}, kIdentity, Base().rails, 11019).error().code, Code::kTransient);
}

TEST(PlanAnnounce, MakesTheRouteMapOnlyWhenItIsMissing) {
  EXPECT_THAT(*PlanAnnounce(ParseRunningConfig(kComplete), kIdentity, {Pod("10.0.3.7", 7)}),
              ElementsAre("router bgp 4200000001", "address-family ipv4 unicast",
                          "network 10.0.3.7/32 route-map railcni-rail0-0000000000000000000000000007",
                          "exit-address-family"));
  EXPECT_THAT(
      *PlanAnnounce(ParseRunningConfig(kComplete), kIdentity, {Pod("10.0.3.7", 0), Pod("2001:db8::7", 0)}),
      ElementsAre("route-map railcni-rail0-any permit 10", "set large-community 4200000000:1375731712:0",
                  "router bgp 4200000001", "address-family ipv4 unicast",
                  "network 10.0.3.7/32 route-map railcni-rail0-any", "exit-address-family",
                  "address-family ipv6 unicast", "network 2001:db8::7/128 route-map railcni-rail0-any",
                  "exit-address-family"));
}

TEST(PlanAnnounce, SendsNothingAgain) {
  const std::string running =
      With("  neighbor br-rail0 activate",
           "  network 2001:db8::7/128 route-map railcni-rail0-0000000000000000000000000007");
  EXPECT_THAT(*PlanAnnounce(ParseRunningConfig(running), kIdentity, {Pod("2001:db8::7", 7)}), IsEmpty());
}

constexpr const char* kSet =
    " set large-community 4200000000:1409286144:0 4200000000:1426063360:7 4200000000:1375731712:0";

// kComplete with a pod of the tenant 7, and `what` in its route-map in place of the line.
std::string Edited(const std::string& what) {
  std::string text = With("  table-map railcni-nofib",
                          "  network 10.0.3.7/32 route-map railcni-rail0-0000000000000000000000000007");
  return text.replace(text.find(kSet), std::string(kSet).size(), what);
}

TEST(AnnouncedIn, SaysWhichRouteMapsDoNotSayWhatTheyMust) {
  const auto announced = [](const std::string& running) {
    return AnnouncedIn(ParseRunningConfig(running), kIdentity);
  };
  EXPECT_THAT(announced(Edited(kSet)), ElementsAre(Pod("10.0.3.7", 7)));
  Announcement edited = Pod("10.0.3.7", 7);
  edited.edited = true;
  for (const char* what : {
           "",
           " set large-community 4200000000:1409286144:0 4200000000:1426063360:7",
           " set large-community 4200000000:1375731712:0",
           " set large-community 4200000000:1409286144:0 4200000000:1426063360:8 4200000000:1375731712:0",
           " set large-community 4200000000:1409286144:8 4200000000:1426063360:7 4200000000:1375731712:0",
           " set large-community 4200000000:1426063360:7 4200000000:1375731712:0",
           " set large-community 4200000001:1409286144:0 4200000001:1426063360:7 4200000000:1375731712:0",
           " set large-community 4200000000:1409286144:0 4200000000:1426063360:7 4200000000:1375731712:0 "
           "4200000000:1375731712:1",
           " set large-community 4200000000:1409286144:0 4200000000:1426063360:7 4200000000:1375731712:0 "
           "additive",
           " set large-community 4200000000:1409286144:0 4200000000:1426063360:7 4200000000:1375731712:0\n "
           "set metric 5",
           " set large-community 4200000000:1409286144:0 4200000000:1426063360:7 "
           "4200000000:1375731712:0\nexit\n"
           "route-map railcni-rail0-0000000000000000000000000007 permit 20",
       }) {
    EXPECT_THAT(announced(Edited(what)), ElementsAre(edited)) << what;
  }
  std::string without = Edited(kSet);
  without.erase(without.find("route-map railcni-rail0-0000000000000000000000000007 permit 10"));
  EXPECT_THAT(announced(without), ElementsAre(edited));
  edited = Pod("10.0.3.7", 7);
  edited.rail_index = 3;
  EXPECT_THAT(
      announced(Edited(
          " set large-community 4200000000:1409286144:0 4200000000:1426063360:7 4200000000:1375731712:3")),
      ElementsAre(edited));
}

TEST(PlanAnnounce, SaysThePlaneWhereTheRailHasPlanes) {
  Announcement pod = Pod("10.0.3.7", 7);
  pod.plane = {3, 1};
  const std::string with_plane = std::string(kSet) + " 4200000000:1342177280:769";
  EXPECT_THAT(AnnouncedIn(ParseRunningConfig(Edited(with_plane)), kIdentity), ElementsAre(pod));
  EXPECT_THAT(*PlanAnnounce(ParseRunningConfig(Edited(with_plane)), kIdentity, {pod}), IsEmpty());
  const auto lines = [&](const std::string& set, const Announcement& wanted) {
    return *PlanAnnounce(ParseRunningConfig(Edited(set)), kIdentity, {wanted});
  };
  EXPECT_THAT(lines(kSet, pod), Contains(with_plane.substr(1))) << "node.json names planes from now on";
  EXPECT_THAT(lines(with_plane, Pod("10.0.3.7", 7)), Contains(std::string(kSet).substr(1))) << "and no more";
  // Nor two planes, or one that cannot be.
  for (const char* more :
       {" 4200000000:1342177280:769 4200000000:1342177280:768", " 4200000000:1342177280:65535"}) {
    const auto seen = AnnouncedIn(ParseRunningConfig(Edited(std::string(kSet) + more)), kIdentity);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_TRUE(seen[0].edited) << more;
  }
}

TEST(PlanAnnounce, MakesARouteMapAnewThatSaysSomethingElse) {
  EXPECT_THAT(
      *PlanAnnounce(
          ParseRunningConfig(Edited(" set large-community 4200000000:1409286144:0 4200000000:1426063360:8")),
          kIdentity, {Pod("10.0.3.7", 7), Pod("10.0.3.8", 7)}),
      ElementsAre("route-map railcni-rail0-0000000000000000000000000007 deny 65535",
                  "no route-map railcni-rail0-0000000000000000000000000007 permit 10",
                  "route-map railcni-rail0-0000000000000000000000000007 deny 10", std::string(kSet).substr(1),
                  "route-map railcni-rail0-0000000000000000000000000007 permit 10",
                  "no route-map railcni-rail0-0000000000000000000000000007 deny 65535",
                  "router bgp 4200000001", "address-family ipv4 unicast",
                  "network 10.0.3.7/32 route-map railcni-rail0-0000000000000000000000000007",
                  "network 10.0.3.8/32 route-map railcni-rail0-0000000000000000000000000007",
                  "exit-address-family"));
  EXPECT_THAT(*PlanAnnounce(ParseRunningConfig(Edited(kSet)), kIdentity, {Pod("10.0.3.7", 7)}), IsEmpty());
}

TEST(RouteMapName, IsReadBack) {
  for (const tenancy::TenantId tenant :
       {tenancy::TenantId(), {0, 7}, {7, 0}, {0xfedcba98765432, 0x0123456789abcd}}) {
    Announcement announcement{{}, "rail-0-a", 0, tenant};
    EXPECT_EQ(FromRouteMapName(RouteMapName(announcement)), announcement);
  }
  for (const char* name :
       {"", "railcni-", "railcni-in", "railcni-nofib", "railcni-rail0-out", "railcni--any", "operator",
        "railcni-rail0-00000000000007", "railcni-rail0-000000000000000000000000000g",
        "railcni-rail0-0000000000000000000000000000"}) {
    EXPECT_EQ(FromRouteMapName(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace rail::frr
