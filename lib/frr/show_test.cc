#include "lib/frr/show.h"

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

TEST(DecodeInAdjRibOut, WaitsForThePathAsItIsNow) {
  const auto answer = [](const std::string& advertised, const std::string& path) {
    return R"({"prefix":"10.0.3.7/32",)" + advertised + R"("paths":[{"valid":true,)" + path +
           R"("bestpath":{"overall":true}}]})";
  };
  const std::string to = R"("advertisedTo":{"br-rail0":{"hostname":"leaf"}},)",
                    ours = R"("sourced":true,"local":true,)";
  EXPECT_TRUE(*DecodeInAdjRibOut(answer(to, ours), "br-rail0"));
  EXPECT_FALSE(*DecodeInAdjRibOut(answer(to, ours), "br-rail1"));
  EXPECT_FALSE(*DecodeInAdjRibOut(answer("", ours), "br-rail0"));
  EXPECT_FALSE(*DecodeInAdjRibOut(answer(to, ""), "br-rail0"));
  EXPECT_FALSE(*DecodeInAdjRibOut(answer(to, ours + R"("processScheduled":true,)"), "br-rail0"));
  EXPECT_FALSE(*DecodeInAdjRibOut(answer(to, ours + R"("removed":true,)"), "br-rail0"));
  EXPECT_FALSE(*DecodeInAdjRibOut("{}", "br-rail0"));
  for (const char* text : {"", "[]", "7", "{", "null"})
    EXPECT_EQ(DecodeInAdjRibOut(text, "br-rail0").error().code, Code::kInternal) << text;
}

TEST(DecodeElsewhere, IsANeighborsPathThatIsThere) {
  const auto answer = [](const std::string& paths) {
    return R"({"prefix":"10.0.3.7/32","paths":[)" + paths + "]}";
  };
  const std::string ours = R"({"sourced":true,"local":true,"aspath":{"string":"Local"}})";
  const auto theirs = [](const std::string& state) {
    return "{" + state + R"("valid":true,"aspath":{"string":"4200010001 4200000002","length":2}})";
  };
  EXPECT_EQ(*DecodeElsewhere(answer(ours + "," + theirs(""))), "4200010001 4200000002");
  EXPECT_EQ(*DecodeElsewhere(answer(theirs(R"("stale":true,)") + "," + theirs(""))), "4200010001 4200000002");
  EXPECT_EQ(*DecodeElsewhere(answer(R"({"valid":true})")), "");
  for (const std::string& none :
       {ours, theirs(R"("stale":true,)"), theirs(R"("removed":true,)"), std::string("7")})
    EXPECT_EQ(*DecodeElsewhere(answer(none)), std::nullopt) << none;
  for (const char* none : {"{}", R"({"paths":7})"}) EXPECT_EQ(*DecodeElsewhere(none), std::nullopt);
  EXPECT_EQ(DecodeElsewhere("[").error().code, Code::kInternal);
}

TEST(DecodeUsedLinks, AreOfTheBestPathAndThoseAsGood) {
  const std::string text = R"({"prefix":"0.0.0.0/0","paths":[
      {"valid":true,"multipath":true,"peer":{"peerId":"fe80::1","interface":"mgmt1"}},
      {"valid":true,"multipath":true,"bestpath":{"overall":true},"peer":{"peerId":"fe80::2","interface":"mgmt2"}},
      {"valid":true,"peer":{"peerId":"fe80::3","interface":"worse"}},
      {"valid":true,"multipath":true,"removed":true,"peer":{"interface":"going"}},
      {"multipath":true,"peer":{"interface":"unreachable"}},
      {"valid":true,"bestpath":{"overall":true},"peer":{"peerId":"192.0.2.9"}},
      {"valid":true,"local":true,"bestpath":{"overall":true}}, 7]})";
  EXPECT_THAT(*DecodeUsedLinks(text), ElementsAre("mgmt1", "mgmt2"));
  for (const char* none : {"{}", R"({"paths":7})"}) EXPECT_THAT(*DecodeUsedLinks(none), IsEmpty());
  EXPECT_EQ(DecodeUsedLinks("[").error().code, Code::kInternal);
}

TEST(DecodeSessions, AddsTheFamiliesOfInterfacePeers) {
  const std::string text = R"({
    "ipv4Unicast":{"tableVersion":5,"peers":{
      "br-rail1":{"state":"Active","pfxRcd":0,"pfxSnt":0,"idType":"interface"},
      "br-rail0":{"state":"Established","peerUptimeMsec":91000,"pfxRcd":3,"pfxSnt":2,"idType":"interface"},
      "192.0.2.9":{"state":"Established","idType":"ipv4"},
      "fe80::9":{"state":"Established","idType":"ipv6"}}},
    "ipv6Unicast":{"tableVersion":6,"peers":{"br-rail0":{"state":"NoNeg","pfxRcd":1,"pfxSnt":1,"idType":"interface"}}},
    "l2VpnEvpn":{"peers":{"br-rail7":{"state":"Active","idType":"interface"}}}})";
  const auto sessions = DecodeSessions(text);
  ASSERT_TRUE(sessions) << sessions.error().message;
  ASSERT_EQ(sessions->size(), 3U);
  EXPECT_EQ((*sessions)[2].interface, "fe80::9") << "BMP may not tell it from a leaf";
  EXPECT_EQ((*sessions)[2].peer, Ip("fe80::9"));
  const Session& up = (*sessions)[0];
  EXPECT_EQ(up.interface, "br-rail0");
  EXPECT_TRUE(up.established());
  EXPECT_EQ(up.uptime_ms, 91000U);
  EXPECT_EQ(up.prefixes_received, 4U);
  EXPECT_EQ(up.prefixes_sent, 3U);
  EXPECT_EQ((*sessions)[1].state, "Active");
  for (const char* hostile : {"{}", R"({"ipv4Unicast":[]})", R"({"ipv4Unicast":{"peers":{"x":7}}})"})
    EXPECT_THAT(*DecodeSessions(hostile), IsEmpty());
  EXPECT_FALSE(DecodeSessions("{\"ipv4Unicast\":"));
}

TEST(DecodeIdentifier, IsThatOfAnInstanceWithNeighbors) {
  EXPECT_EQ(*DecodeIdentifier(R"({"ipv6Unicast":{"routerId":"10.255.0.1","as":1}})"), Ip("10.255.0.1"));
  EXPECT_EQ(*DecodeIdentifier(R"({"ipv4Unicast":{"routerId":"0.0.0.0"}})"), Ip("0.0.0.0"));
  for (const char* none : {"{}", R"({"ipv4Unicast":{"routerId":7}})", R"({"ipv4Unicast":[]})"})
    EXPECT_EQ(*DecodeIdentifier(none), std::nullopt) << none;
  EXPECT_EQ(DecodeIdentifier("[]").error().code, Code::kInternal);
}

TEST(DecodeTableVersion, DiffersWhenAFamilyDiffers) {
  const auto version = [](int v4, int v6) {
    return *DecodeTableVersion(R"({"ipv4Unicast":{"tableVersion":)" + std::to_string(v4) +
                               R"(},"ipv6Unicast":{"tableVersion":)" + std::to_string(v6) + "}}");
  };
  EXPECT_EQ(version(5, 6), version(5, 6));
  EXPECT_NE(version(5, 6), version(6, 5));
  EXPECT_NE(version(5, 6), version(6, 6));
  EXPECT_EQ(*DecodeTableVersion("{}"), 0U);
}

TEST(DecodeState, IsBgpdsWord) {
  EXPECT_EQ(*DecodeState(R"({"br-rail0":{"bgpState":"OpenSent"}})", "br-rail0"), "OpenSent");
  EXPECT_EQ(DecodeState(R"({"bgpNoSuchNeighbor":true})", "br-rail0").error().code, Code::kNotFound);
  for (const char* text : {"", "{", "[]", R"({"br-rail0":{}})", R"({"br-rail0":{"bgpState":7}})"})
    EXPECT_EQ(DecodeState(text, "br-rail0").error().code, Code::kInternal) << text;
}

Session Neighbor(const std::string& text, const std::string& state = "Established") {
  Session session{.interface = "br-rail0", .state = state};
  EXPECT_TRUE(DecodeNeighbor(text, session)) << text;
  return session;
}

TEST(DecodeNeighbor, ItsAddressIsUnknownUntilBgpdSaysIt) {
  EXPECT_EQ(Neighbor(R"({"br-rail0":{"bgpNeighborAddr":"fe80::7","remoteAs":1}})").peer, Ip("fe80::7"));
  EXPECT_EQ(Neighbor(R"({"br-rail0":{"bgpNeighborAddr":"none"}})").peer, std::nullopt);
  EXPECT_EQ(Neighbor(R"({"bgpNoSuchNeighbor":true})").peer, std::nullopt);
}

TEST(DecodeNeighbor, ItsLeafIsWhoItSaysItIsWhileTheSessionIsUp) {
  const std::string whole =
      R"({"br-rail0":{"remoteAs":4200010001,"remoteRouterId":"10.255.1.1","hostname":"leaf0"}})";
  EXPECT_EQ(Neighbor(whole).leaf, (Leaf{4200010001, Ip("10.255.1.1"), "leaf0"}));
  EXPECT_EQ(Neighbor(whole, "Active").leaf, std::nullopt);
  EXPECT_EQ(Neighbor(R"({"br-rail0":{"remoteAs":7,"remoteRouterId":"10.255.1.1"}})").leaf,
            (Leaf{7, Ip("10.255.1.1"), ""}));
  EXPECT_EQ(Neighbor(R"({"br-rail0":{"remoteAs":7,"remoteRouterId":"?"}})").leaf, std::nullopt);
  EXPECT_EQ(Neighbor(R"({"br-rail0":{"remoteRouterId":"10.255.1.1"}})").leaf, std::nullopt);
}

TEST(DecodeNeighbor, OwesTheEndOfItsRoutesInEveryFamilyThatBothSpeak) {
  const auto answer = [](const std::string& restart, const std::string& families, const std::string& ended) {
    return R"({"br-rail0":{"neighborCapabilities":{"gracefulRestart":")" + restart +
           R"(","multiprotocolExtensions":{)" + families + R"(}},"gracefulRestartInfo":{"endOfRibRecv":{)" +
           ended + "}}}}";
  };
  const std::string both = "advertisedAndReceived";
  const std::string v4 = R"("ipv4Unicast":{"advertisedAndReceived":true})";
  const std::string v6 = R"("ipv6Unicast":{"advertisedAndReceived":true})";
  EXPECT_TRUE(Neighbor(answer(both, v4 + "," + v6, "")).end_of_rib_due);
  EXPECT_TRUE(Neighbor(answer(both, v4 + "," + v6, R"("ipv4Unicast":true)")).end_of_rib_due);
  EXPECT_FALSE(
      Neighbor(answer(both, v4 + "," + v6, R"("ipv4Unicast":true,"ipv6Unicast":true)")).end_of_rib_due);
  EXPECT_FALSE(Neighbor(answer(both, v4, R"("ipv4Unicast":true)")).end_of_rib_due);
  EXPECT_FALSE(Neighbor(answer(both, R"("ipv4Unicast":{"advertised":true})", "")).end_of_rib_due);
  EXPECT_FALSE(Neighbor(answer("advertised", v4 + "," + v6, "")).end_of_rib_due) << "it will never say so";
  EXPECT_FALSE(Neighbor(answer(both, v4 + "," + v6, ""), "Active").end_of_rib_due);
  for (const char* text :
       {R"({"br-rail0":7})", R"({"br-rail0":{"neighborCapabilities":[]}})",
        R"({"br-rail0":{"neighborCapabilities":{"gracefulRestart":"advertisedAndReceived"}}})"})
    EXPECT_FALSE(Neighbor(text).end_of_rib_due) << text;
  Session session{.interface = "br-rail0"};
  EXPECT_FALSE(DecodeNeighbor("{", session));
}

// Answers of FRRouting 8.4.4, shortened.
TEST(DecodeNeighbor, SaysHowASessionThatIsDownHasEnded) {
  const Session shut = Neighbor(
      R"({"br-rail0":{"adminShutDown":true,"lastResetDueTo":"Admin. shutdown","lastResetCode":11}})", "Idle");
  EXPECT_TRUE(shut.shut_down);
  EXPECT_EQ(shut.last_reset, "Admin. shutdown");
  EXPECT_EQ(shut.notification, std::nullopt);
  const auto ended = [](const std::string& due_to, const std::string& code) {
    return R"({"br-rail0":{"lastResetDueTo":")" + due_to + R"(","lastErrorCodeSubcode":")" + code +
           R"(","lastNotificationReason":"Cease/Administrative Shutdown"}})";
  };
  const Notification received{6, 2, true, "Cease/Administrative Shutdown"};
  EXPECT_EQ(Neighbor(ended("BGP Notification received", "0602"), "Idle").notification, received);
  EXPECT_FALSE(Neighbor(ended("BGP Notification send", "0400"), "Idle").notification->received);
  EXPECT_EQ(Neighbor(ended("BGP Notification received", "0602")).notification, std::nullopt)
      << "it is up again";
  EXPECT_EQ(Neighbor(ended("Waiting for peer OPEN", "0602"), "Idle").notification, std::nullopt)
      << "it is older";
  for (const char* code : {"", "06", "06zz", "-602", "060200"})
    EXPECT_EQ(Neighbor(ended("BGP Notification received", code), "Idle").notification, std::nullopt) << code;
}

}  // namespace
}  // namespace rail::frr
