// What only a real bgpd can show: others who configure it, what the leaf hears, a restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "lib/frr/config_rest.h"
#include "lib/frr/zebra.h"
#include "test/contract/frr_contract.h"

namespace rail::frr::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using tenancy::TenantId;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RealBgp : public BgpContract {
 protected:
  testing::FrrPair& pair() { return static_cast<RealBench&>(*bench_).pair(); }
  // Its lines, sorted: a route-map that is made again is printed last.
  std::vector<std::string> Running() {
    std::istringstream text(pair().ShowHost("show running-config"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    std::ranges::sort(lines);
    return lines;
  }
};

TEST_P(RealBgp, TellsWhenSomebodyIsAtWorkAndWhenBgpdIsAnother) {
  ConfigRest rest(pair().host_run_dir() + "/bgpd.vty");
  EXPECT_FALSE(rest.IsSameDaemon()) << "nobody was remembered";
  rest.Served();
  EXPECT_TRUE(rest.IsSameDaemon());
  EXPECT_FALSE(rest.IsAtRest()) << "the first look";
  EXPECT_TRUE(rest.IsAtRest());
  pair().Host({"router bgp 4200000001", " bgp router-id 10.255.0.1"});
  EXPECT_FALSE(rest.IsAtRest());
  EXPECT_TRUE(rest.IsAtRest());
  pair().KillHostBgpd();
  EXPECT_TRUE(rest.IsAtRest()) << "nobody to wait for";
  EXPECT_FALSE(rest.IsSameDaemon());
  pair().StartHostBgpd();
  EXPECT_FALSE(rest.IsSameDaemon());
}

TEST_P(RealBgp, KeepsForeignConfiguration) {
  const std::vector<std::string> foreign{"router bgp 4200000001",
                                         " bgp router-id 10.255.0.1",
                                         " no bgp default ipv4-unicast",
                                         " neighbor 192.0.2.9 remote-as 64900",
                                         " address-family ipv4 unicast",
                                         "  network 192.0.2.1/32 route-map operator",
                                         "  network 198.51.100.0/24",
                                         "  neighbor 192.0.2.9 activate",
                                         "  neighbor 192.0.2.9 route-map operator out",
                                         " exit-address-family",
                                         "bgp large-community-list standard operator seq 5 permit 64900:1:1",
                                         "route-map operator permit 10",
                                         " set large-community 64900:1:1"};
  pair().Host(foreign);
  ASSERT_NO_FATAL_FAILURE(Up());  // also shows that "no bgp default ipv4-unicast" is coped with
  Announce(Pod("10.0.3.7", 0, kA));
  EXPECT_TRUE(bgp().WaitAdjRibOut({Ip("10.0.3.7")}, "br-rail0", Soon()));
  EXPECT_TRUE(bgp().Withdraw(Ip("10.0.3.7"), Soon()));
  EXPECT_TRUE(bgp().Withdraw(Ip("192.0.2.1"), Soon()));
  EXPECT_THAT(*bgp().EnsureBase(Base(), Soon()), IsEmpty());
  const std::string running = pair().ShowHost("show running-config");
  for (const std::string& line : foreign) EXPECT_THAT(running, HasSubstr("\n" + line + "\n"));
  EXPECT_EQ(running.find("no bgp ebgp-requires-policy"), std::string::npos);
}

// zebra beside this bgpd.
TEST_P(RealBgp, TellsZebraWhoseNextHopsRoutesHaveAndTakesItBack) {
  const std::string folder = pair().host_run_dir();
  const auto says = [&] {
    auto zebra = Vty::Open(folder + "/zebra.vty", Soon());
    return zebra->Show("show running-config", Soon())->find("\nno zebra nexthop kernel enable\n") !=
           std::string::npos;
  };
  const auto version = ZebraVersion(folder, Soon());
  ASSERT_TRUE(version);
  ASSERT_FALSE(says());
  EXPECT_EQ(OwnNextHops(
                folder, [] { return Status(Fail(Code::kInternal, "no record")); }, Soon())
                .has_value(),
            !LosesNextHops(*version));
  EXPECT_FALSE(says()) << "nothing is changed that is not recorded";
  int recorded = 0;
  const auto record = [&] { return ++recorded, Status(); };
  EXPECT_EQ(*OwnNextHops(folder, record, Soon()), LosesNextHops(*version));
  EXPECT_EQ(says(), LosesNextHops(*version));
  EXPECT_EQ(*OwnNextHops(folder, record, Soon()), false);
  EXPECT_EQ(recorded, LosesNextHops(*version) ? 1 : 0);
  ASSERT_NO_FATAL_FAILURE(Up());
  EXPECT_TRUE(bgp().RemoveOurs({}, {.base = true, .before = std::nullopt, .next_hops = false}, Soon()));
  EXPECT_EQ(says(), LosesNextHops(*version)) << "somebody else's";
  EXPECT_TRUE(bgp().RemoveOurs({}, {.base = true, .before = std::nullopt, .next_hops = true}, Soon()));
  EXPECT_FALSE(says());
}

TEST_P(RealBgp, RefusesToReplaceATableMap) {
  pair().Host({"router bgp 4200000001", "address-family ipv6 unicast", "table-map operator"});
  const auto lines = bgp().EnsureBase(Base(), Soon());
  ASSERT_FALSE(lines);
  EXPECT_EQ(lines.error().code, Code::kExists);
  EXPECT_THAT(lines.error().message, HasSubstr("table-map operator"));
  EXPECT_EQ(pair().ShowHost("show running-config").find("railcni"), std::string::npos);
}

TEST_P(RealBgp, KeepsTheSessionOfALeafThatSendsMoreThanTheBound) {
  ASSERT_NO_FATAL_FAILURE(Up());
  BaseConfig base = Base();
  base.max_prefixes = 2;
  EXPECT_EQ(bgp().EnsureBase(base, Soon())->size(), 9U)
      << "router, and for each family two rails' lines between two";
  EXPECT_THAT(*bgp().EnsureBase(base, Soon()), IsEmpty());
  const auto [high, low] = tenancy::TenantCommunities(kCommunityAsn, kA);
  for (const char* prefix : {"10.0.9.1/32", "10.0.9.2/32", "10.0.9.3/32"})
    bench_->LeafAnnounces(prefix, {high, low, tenancy::RailCommunity(kCommunityAsn, 0)});
  EXPECT_TRUE(Eventually([&] { return Received() == 3; }));
  EXPECT_EQ(*bgp().SessionState("br-rail0", Soon()), kEstablished);
  EXPECT_EQ(bgp().Sessions(Soon())->front().most_prefixes, 3U);
}

TEST_P(RealBgp, TellsTheLeafOfWhichClusterTheNodeIsAndTakesNothingBackForIt) {
  ASSERT_NO_FATAL_FAILURE(Up());
  Announce(Pod("10.0.3.7", 0, kA));
  ASSERT_TRUE(bgp().WaitAdjRibOut({Ip("10.0.3.7")}, "br-rail0", Soon()));
  BaseConfig base = Base();
  base.cluster = tenancy::ClusterCommunity(kCommunityAsn, 0x12345678abcdef);
  EXPECT_THAT(*bgp().EnsureBase(base, Soon()), Not(IsEmpty()));
  EXPECT_THAT(*bgp().EnsureBase(base, Soon()), IsEmpty());
  const auto heard = [&] { return pair().ShowLeaf("show bgp ipv4 unicast 10.0.3.7/32"); };
  EXPECT_TRUE(Eventually([&] { return heard().find(base.cluster->ToString()) != std::string::npos; }))
      << heard();
  for (const auto& half : tenancy::TenantCommunities(kCommunityAsn, kA))
    EXPECT_THAT(heard(), HasSubstr(half.ToString())) << "it is added to what the pod's route-map says";
  EXPECT_EQ(*bgp().SessionState("br-rail0", Soon()), kEstablished);
}

// How a session has ended, in the words of this bgpd.
TEST_P(RealBgp, SaysHowASessionHasEnded) {
  ASSERT_NO_FATAL_FAILURE(Up());
  const auto session = [&] { return bgp().Sessions(Soon())->front(); };
  pair().Leaf({"router bgp " + std::to_string(FrrPair::kLeafAsn), "neighbor l0 shutdown"});
  std::optional<Notification> said;
  EXPECT_TRUE(Eventually([&] {
    const auto now = session().notification;
    if (now) said = now;
    return said.has_value();
  }));
  EXPECT_EQ(said.value_or(Notification()), (Notification{6, 2, true, "Cease/Administrative Shutdown"}));
  pair().Leaf({"router bgp " + std::to_string(FrrPair::kLeafAsn), "no neighbor l0 shutdown"});
  EXPECT_TRUE(Eventually([&] { return session().established(); }));
  pair().Host({"router bgp 4200000001", "neighbor br-rail0 shutdown"});
  EXPECT_TRUE(Eventually([&] { return session().shut_down; }));
  EXPECT_EQ(session().last_reset, "Admin. shutdown");
  EXPECT_FALSE((*bgp().Sessions(Soon()))[1].shut_down);
}

// What the operator has chosen, and what it costs: bgpd ends the session, and the leaf forgets every pod of the rail.
TEST_P(RealBgp, LeavesABoundAloneThatEndsTheSession) {
  ASSERT_NO_FATAL_FAILURE(Up());
  pair().Host({"router bgp 4200000001", "address-family ipv4 unicast", "neighbor br-rail0 maximum-prefix 1"});
  EXPECT_THAT(*bgp().EnsureBase(Base(), Soon()), IsEmpty());
  const auto [high, low] = tenancy::TenantCommunities(kCommunityAsn, kA);
  for (const char* prefix : {"10.0.9.1/32", "10.0.9.2/32"})
    bench_->LeafAnnounces(prefix, {high, low, tenancy::RailCommunity(kCommunityAsn, 0)});
  EXPECT_TRUE(Eventually([&] { return *bgp().SessionState("br-rail0", Soon()) != kEstablished; }));
  EXPECT_THAT(*bgp().EnsureBase(Base(), Soon()), IsEmpty());
}

TEST_P(RealBgp, ShowsTheLeafItsCommunities) {
  ASSERT_NO_FATAL_FAILURE(Up());
  Announce(Pod("10.0.3.7", 1, kA));
  Announce(Pod("2001:db8::7", 1, {}));
  const std::string both = Rail(1).ToString() + " " + TextOf(kA);
  EXPECT_TRUE(Eventually([&] {
    return pair().ShowLeaf("show bgp ipv4 unicast 10.0.3.7/32 json").find("\"" + both + "\"") !=
           std::string::npos;
  }));
  EXPECT_TRUE(Eventually([&] {
    return pair()
               .ShowLeaf("show bgp ipv6 unicast 2001:db8::7/128 json")
               .find("\"" + Rail(1).ToString() + "\"") != std::string::npos;
  }));
  // A change of tenant is awaited as well, although the prefix has been in the Adj-RIB-Out before.
  Announce(Pod("10.0.3.7", 1, kB));
  EXPECT_FALSE(*bgp().InAdjRibOut(Ip("10.0.3.7"), "br-rail1", Soon()));
  EXPECT_TRUE(bgp().WaitAdjRibOut({Ip("10.0.3.7")}, "br-rail1", Soon()));
  EXPECT_TRUE(Eventually([&] {
    return pair().ShowLeaf("show bgp ipv4 unicast 10.0.3.7/32 json").find(TextOf(kB)) != std::string::npos;
  }));
}

TEST_P(RealBgp, PassesNothingOnAndInstallsNothing) {
  ASSERT_NO_FATAL_FAILURE(Up());
  // With the communities of both rails they would pass every outbound list, were they announced here.
  bench_->LeafAnnounces("10.0.9.1/32", Of(kA, {Rail(0), Rail(1)}));
  bench_->LeafAnnounces("2001:db8::9/128", Of(kA, {Rail(0), Rail(1)}));
  ASSERT_TRUE(Eventually([&] { return Received() == 2; }));
  Announce(Pod("10.0.3.7", 0, kA));
  Announce(Pod("10.0.3.8", 1, kA));
  const auto sent = [&](size_t session) { return (*bgp().Sessions(Soon()))[session].prefixes_sent; };
  EXPECT_TRUE(Eventually([&] { return sent(0) >= 1 && sent(1) >= 1; }));
  EXPECT_EQ(sent(0), 1U);
  EXPECT_EQ(sent(1), 1U);
  EXPECT_EQ((*bgp().Sessions(Soon()))[0].prefixes_received, 2U);
  const std::string routes =
      "ip -n " + pair().host_netns() + " -6 route show proto bgp; ip -n " + pair().host_netns() + " route";
  EXPECT_EQ(std::system(("test -z \"$(" + routes + ")\"").c_str()), 0);
}

// Nothing tells of such an edit, and bgpd acts on it after 5 s.
TEST_P(RealBgp, PutsARouteMapRightThatSomebodyHasEditedOrRemoved) {
  ASSERT_NO_FATAL_FAILURE(Up());
  const std::vector<Announcement> pods{Pod("10.0.3.7", 0, kB), Pod("10.0.3.8", 0, kB),
                                       Pod("2001:db8::7", 0, kB)};
  ASSERT_TRUE(bgp().AnnounceAll(pods, Soon()));
  const auto told = [&](TenantId tenant) {
    return std::ranges::all_of(pods, [&](const Announcement& pod) {
      const std::string family = pod.address.is_v6() ? "ipv6" : "ipv4";
      return pair()
                 .ShowLeaf("show bgp " + family + " unicast " + pod.address.ToHostPrefix() + " json")
                 .find("\"" + Rail(0).ToString() + " " + TextOf(tenant) + "\"") != std::string::npos;
    });
  };
  ASSERT_TRUE(Eventually([&] { return told(kB); }));
  const std::vector<std::string> right = Running();
  const std::string map = "route-map railcni-rail0-0000000000000000000000000009";
  const std::vector<std::vector<std::string>> edits{
      {"no " + map},
      {map + " permit 10", "set large-community " + TextOf(kA) + " " + Rail(0).ToString()},
      {map + " permit 10", "set metric 5"},
      {map + " deny 5"},
      {"no " + map + " permit 10", map + " deny 10"}};
  for (size_t i = 0; i < edits.size(); ++i) {
    SCOPED_TRACE(edits[i].back());
    pair().Host(edits[i]);
    if (i <= 1) {
      EXPECT_TRUE(Eventually([&] { return i == 0 ? !told(kB) : told(kA); })) << "what comes of it";
    }
    std::vector<Announcement> found = Announced();
    ASSERT_EQ(found.size(), pods.size());
    for (Announcement& announcement : found) EXPECT_TRUE(std::exchange(announcement.edited, false));
    EXPECT_EQ(found, pods);
    const Status status = bgp().AnnounceAll(pods, Soon());
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(Announced(), pods);
    EXPECT_EQ(Running(), right);
    EXPECT_TRUE(Eventually([&] { return told(kB); }));
  }
}

TEST_P(RealBgp, RemovesWhatSomebodyAddsToItsRouteMaps) {
  ASSERT_NO_FATAL_FAILURE(Up());
  Announce(Pod("10.0.3.7", 0, kA));
  Announce(Pod("10.0.3.8", 1, kA));
  const auto sent = [&] { return (*bgp().Sessions(Soon()))[0].prefixes_sent; };
  ASSERT_TRUE(Eventually([&] { return sent() == 1; }));
  const std::vector<std::string> right = Running();
  const std::vector<std::vector<std::string>> edits{
      {"route-map railcni-rail0-out permit 5"},
      {"route-map railcni-rail0-out deny 5"},
      {"route-map railcni-in deny 5"},
      {"route-map railcni-nofib permit 5"},
      {"route-map railcni-rail0-out permit 10", "match ip address theirs"},
      {"route-map railcni-rail0-out permit 10", "on-match next"},
      {"no route-map railcni-rail0-out permit 10", "route-map railcni-rail0-out deny 10"},
      {"no route-map railcni-rail0-out"}};
  for (size_t i = 0; i < edits.size(); ++i) {
    SCOPED_TRACE(edits[i].back());
    pair().Host(edits[i]);
    if (i <= 1) {
      EXPECT_TRUE(Eventually([&] { return sent() == (i == 0 ? 2U : 0U); })) << "what comes of it";
    }
    ASSERT_NE(Running(), right);
    const auto lines = bgp().EnsureBase(Base(), Soon());
    ASSERT_TRUE(lines) << lines.error().message;
    EXPECT_EQ(Running(), right);
    if (i <= 1) {
      EXPECT_TRUE(Eventually([&] { return sent() == 1; }));
    }
  }
  EXPECT_TRUE(Eventually([&] { return sent() == 1; }));
}

TEST_P(RealBgp, CompletesARouteMapThatWasLeftHalfMade) {
  ASSERT_NO_FATAL_FAILURE(Up());
  pair().Host({"route-map railcni-rail0-0000000000000000000000000009 permit 10"});
  Announce(Pod("10.0.3.7", 0, kB));
  EXPECT_TRUE(bgp().WaitAdjRibOut({Ip("10.0.3.7")}, "br-rail0", Soon()));
  EXPECT_TRUE(Eventually([&] {  // sent is not yet received
    return pair().ShowLeaf("show bgp ipv4 unicast 10.0.3.7/32 json").find(TextOf(kB)) != std::string::npos;
  }));
}

TEST_P(RealBgp, KnowsThatALeafHasNotToldAllYet) {
  // One that has nothing to tell need not wait with that.
  pair().Leaf({"router bgp 65100", "coalesce-time 1500", "no bgp network import-check",
               "address-family ipv4 unicast", "network 192.0.2.1/32"});
  ASSERT_NO_FATAL_FAILURE(Up());
  const auto is_due = [&] { return (*bgp().Sessions(Soon()))[0].end_of_rib_due; };
  const auto ended = [&] { return !is_due(); };
  EXPECT_TRUE(Eventually(ended));
  ASSERT_TRUE(bgp().ResetSession("br-rail0", Soon()));
  const auto again = [&] { return (*bgp().Sessions(Soon()))[0].established() && is_due(); };
  EXPECT_TRUE(Eventually(again)) << "the word of the session before does not count";
  EXPECT_TRUE(Eventually(ended));
  EXPECT_TRUE((*bgp().Sessions(Soon()))[0].established());
}

TEST_P(RealBgp, LosesNothingAtTheLeafWhenBgpdRestarts) {
  ASSERT_NO_FATAL_FAILURE(Up());
  std::vector<Announcement> pods;
  for (int i = 0; i < 50; ++i) pods.push_back(Pod("10.0.3." + std::to_string(i), 0, kA));
  ASSERT_TRUE(bgp().AnnounceAll(pods, Soon()));
  ASSERT_TRUE(bgp().WaitAdjRibOut({pods.back().address}, "br-rail0", Soon()));
  const auto at_leaf = [&] {
    const std::string text = pair().ShowLeaf("show bgp ipv4 unicast json");
    size_t count = 0;
    for (size_t at = 0; (at = text.find("\"10.0.3.", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  ASSERT_TRUE(Eventually([&] { return at_leaf() >= 50U; }));
  const size_t all = at_leaf();
  pair().KillHostBgpd();
  EXPECT_EQ(bgp().Announced(Soon()).error().code, Code::kTransient);
  pair().StartHostBgpd();
  auto opened = VtyBgp::Open({pair().host_run_dir(), kAsn, kCommunityAsn}, Soon());
  ASSERT_TRUE(opened) << opened.error().message;
  VtyBgp& anew = **opened;
  ASSERT_TRUE(anew.EnsureBase({Ip("10.255.0.1"), {}}, Soon()));
  ASSERT_TRUE(anew.AnnounceAll(pods, Soon()));
  ASSERT_TRUE(anew.EnsureBase(Base(), Soon()));
  size_t fewest = all;
  const auto watch = [&] {
    fewest = std::min(fewest, at_leaf());
    return anew.WaitAdjRibOut({pods.back().address}, "br-rail0", After(milliseconds(1))).has_value();
  };
  EXPECT_TRUE(Eventually(watch));
  // The leaf drops what is still stale once it has our end-of-RIB.
  const Deadline settled = After(seconds(3));
  EXPECT_TRUE(Eventually([&] { return (void)watch(), Clock::now() > settled; }));
  EXPECT_EQ(fewest, all);
}

INSTANTIATE_TEST_SUITE_P(All, RealBgp, ::testing::Values(Kind::kReal), [](const auto&) { return "Frr"; });

TEST(VtyBgp, SaysThatBgpdDoesNotRun) {
  const auto bgp = VtyBgp::Open({"/nowhere", kAsn, kCommunityAsn}, Soon());
  ASSERT_FALSE(bgp);
  EXPECT_EQ(bgp.error().code, Code::kTransient);
  EXPECT_THAT(bgp.error().message, HasSubstr("/nowhere/bgpd.vty"));
}

}  // namespace
}  // namespace rail::frr::testing
