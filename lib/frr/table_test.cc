#include "lib/frr/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rail::frr {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint32_t kCommunityAsn = 4200000000;

IpAddress Ip(const char* text) {
  return *IpAddress::Parse(text);
}

// One path as bgpd writes it.
std::string PathOf(const std::string& communities, const std::string& interface,
                   const std::string& more = R"("bestpath":{"overall":true},)") {
  return R"({"aspath":{"string":"65100","segments":[{"type":"as-sequence","list":[65100]}],"length":1},"origin":"IGP","valid":true,)" +
         more + R"("largeCommunity":{"string":"x","list":[)" + communities +
         R"(]},"nexthops":[{"ip":"fe80::1","interface":"wrong","used":true}],)" +
         R"("peer":{"peerId":"fe80::1","interface":")" + interface + R"(","type":"external"}})";
}
const std::string kTenant7 = R"("4200000000:1375731712:3","4200000000:1409286144:7")";
const std::string kTenant9 = R"("4200000000:1409286144:9")";

// 8.4: a list whose first entry is a header.
std::string Old(const std::string& prefix, const std::string& paths) {
  return "\"" + prefix + R"(": [{"prefix":")" + prefix +
         R"(","version":1,"advertisedTo":{"br-rail0":{"hostname":"vm"}}},)" + paths + "]";
}
// 10: an object.
std::string New(const std::string& prefix, const std::string& paths) {
  return "\"" + prefix + R"(": {"prefix":")" + prefix +
         R"(","version":"1","advertisedTo":{"br-rail0":{"peerName":"br-rail0"}},"paths":[)" + paths + "]}";
}
std::string Table(const std::string& routes) {
  return R"({"vrfId":0,"vrfName":"default","tableVersion":20006,"routerId":"10.255.0.1","defaultLocPrf":100,"localAS":4200000001,"routes":{)" +
         routes + "} } ";
}

// `text` in pieces of `size` bytes.
Status DecodeText(std::string_view text, std::vector<Remote>& remotes, size_t size = 7) {
  const Pieces pieces = [&]() -> Result<std::string_view> {
    const std::string_view piece = text.substr(0, size);
    text.remove_prefix(piece.size());
    return piece;
  };
  return DecodeRemotes(pieces, kCommunityAsn, remotes);
}

std::vector<Remote> Decode(const std::string& text) {
  std::vector<Remote> remotes;
  const Status status = DecodeText(text, remotes);
  EXPECT_TRUE(status) << status.error().message;
  return remotes;
}

TEST(DecodeRemotes, ReadsBothSchemas) {
  const std::vector<Remote> want{{Ip("10.0.9.1"), {7}, 3, "br-rail0"},
                                 {Ip("10.0.9.2"), {9}, std::nullopt, "br-rail1"}};
  for (const auto& form : {Old, New}) {
    EXPECT_EQ(Decode(Table(form("10.0.9.2/32", PathOf(kTenant9, "br-rail1")) + "," +
                           form("10.0.9.1/32", PathOf(kTenant7, "br-rail0")))),
              want);
  }
}

TEST(DecodeRemotes, TakesTheBestPathsTenantAndTheLowestInterface) {
  const std::string none = R"("valid":true,)";
  for (const auto& form : {Old, New}) {
    EXPECT_THAT(Decode(Table(form("10.0.9.1/32", PathOf(kTenant9, "br-rail0", none) + "," +
                                                     PathOf(kTenant7, "br-rail2") + "," +
                                                     PathOf(kTenant7, "br-rail1", none)))),
                ElementsAre(Remote{Ip("10.0.9.1"), {7}, 3, "br-rail1"}));
    EXPECT_THAT(Decode(Table(form("10.0.9.1/32", PathOf(kTenant9, "br-rail0", none)))), IsEmpty());
    EXPECT_THAT(
        Decode(Table(form("10.0.9.1/32", PathOf(kTenant9, "br-rail0", none) + "," + PathOf("", "br-rail1")))),
        IsEmpty());
  }
}

TEST(DecodeRemotes, LeavesOutOursAndWhatIsNoPod) {
  for (const auto& form : {Old, New}) {
    EXPECT_THAT(Decode(Table(
                    form("10.0.9.1/32",
                         PathOf(kTenant7, "", R"("sourced":true,"local":true,"bestpath":{"overall":true},)") +
                             "," + PathOf(kTenant7, "br-rail0", "")))),
                IsEmpty());
    EXPECT_THAT(Decode(Table(form("10.0.9.0/24", PathOf(kTenant7, "br-rail0")))), IsEmpty());
    EXPECT_THAT(Decode(Table(form("10.0.9.1/32",
                                  PathOf(R"("1:1409286144:7","4200000000:1375731712:3")", "br-rail0")))),
                IsEmpty());
    EXPECT_THAT(Decode(Table(form("10.0.9.1/32", PathOf(kTenant7 + "," + kTenant9, "br-rail0")))), IsEmpty());
  }
}

TEST(DecodeRemotes, ReadsEmptyTables) {
  EXPECT_THAT(Decode("{}"), IsEmpty());
  EXPECT_THAT(Decode(Table("")), IsEmpty());
}

TEST(DecodeRemotes, RefusesWhatIsNotATable) {
  const std::string whole = Table(Old("10.0.9.1/32", PathOf(kTenant7, "br-rail0")));
  std::vector<Remote> remotes;
  for (size_t size = 0; size + 2 < whole.size(); ++size) {
    EXPECT_FALSE(DecodeText(whole.substr(0, size), remotes)) << size;
  }
  EXPECT_FALSE(DecodeText(std::string(100'000, '['), remotes));
  for (const char* text : {"7", "[]", "null", "\"\""}) EXPECT_FALSE(DecodeText(text, remotes)) << text;
  EXPECT_FALSE(DecodeText(R"({"warning":")" + std::string(100, 'x') + "\"}", remotes));
}

TEST(DecodeRemotes, SaysWhyTheTextEnded) {
  bool first = true;
  std::vector<Remote> remotes;
  const Status status = DecodeRemotes(
      [&]() -> Result<std::string_view> {
        if (std::exchange(first, false)) return std::string_view("{\"routes\":{");
        return Fail(Code::kTransient, "gone");
      },
      kCommunityAsn, remotes);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "gone");
}

TEST(DecodeRemotes, SurvivesOtherShapes) {
  for (
      const char* routes :
      {R"("10.0.9.1/32":null)", R"("10.0.9.1/32":[])", R"("10.0.9.1/32":[[[{}]]])",
       R"("10.0.9.1/32":{"paths":7})", R"("10.0.9.1/32":{"paths":{"paths":[{"bestpath":{"overall":true}}]}})",
       R"("x":[{"bestpath":true}])",
       R"("10.0.9.1/32":[{"largeCommunity":"4200000000:1409286144:7","bestpath":{"overall":true}}])",
       R"("10.0.9.1/32":[{"largeCommunity":{"list":[["4200000000:1409286144:7"]]},"bestpath":{"overall":true}}])"}) {
    EXPECT_THAT(Decode(Table(routes)), IsEmpty()) << routes;
  }
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

TEST(DecodeSessions, AddsTheFamiliesOfInterfacePeers) {
  const std::string text = R"({
    "ipv4Unicast":{"tableVersion":5,"peers":{
      "br-rail1":{"state":"Active","pfxRcd":0,"pfxSnt":0,"idType":"interface"},
      "br-rail0":{"state":"Established","peerUptimeMsec":91000,"pfxRcd":3,"pfxSnt":2,"idType":"interface"},
      "192.0.2.9":{"state":"Established","idType":"ipv4"}}},
    "ipv6Unicast":{"tableVersion":6,"peers":{"br-rail0":{"state":"NoNeg","pfxRcd":1,"pfxSnt":1,"idType":"interface"}}},
    "l2VpnEvpn":{"peers":{"br-rail7":{"state":"Active","idType":"interface"}}}})";
  const auto sessions = DecodeSessions(text);
  ASSERT_TRUE(sessions) << sessions.error().message;
  ASSERT_EQ(sessions->size(), 2U);
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

TEST(DecodeNeighbor, OwesTheEndOfItsRoutesInEveryFamilyThatBothSpeak) {
  const auto answer = [](const std::string& restart, const std::string& families, const std::string& ended) {
    return R"({"br-rail0":{"neighborCapabilities":{"gracefulRestart":")" + restart +
           R"(","multiprotocolExtensions":{)" + families + R"(}},"gracefulRestartInfo":{"endOfRibRecv":{)" +
           ended + "}}}}";
  };
  const std::string both = "advertisedAndReceived";
  const std::string v4 = R"("ipv4Unicast":{"advertisedAndReceived":true})";
  const std::string v6 = R"("ipv6Unicast":{"advertisedAndReceived":true})";
  EXPECT_TRUE(Neighbor(answer(both, v4 + "," + v6, "")).owes_end_of_rib);
  EXPECT_TRUE(Neighbor(answer(both, v4 + "," + v6, R"("ipv4Unicast":true)")).owes_end_of_rib);
  EXPECT_FALSE(
      Neighbor(answer(both, v4 + "," + v6, R"("ipv4Unicast":true,"ipv6Unicast":true)")).owes_end_of_rib);
  EXPECT_FALSE(Neighbor(answer(both, v4, R"("ipv4Unicast":true)")).owes_end_of_rib);
  EXPECT_FALSE(Neighbor(answer(both, R"("ipv4Unicast":{"advertised":true})", "")).owes_end_of_rib);
  EXPECT_FALSE(Neighbor(answer("advertised", v4 + "," + v6, "")).owes_end_of_rib) << "it will never say so";
  EXPECT_FALSE(Neighbor(answer(both, v4 + "," + v6, ""), "Active").owes_end_of_rib);
  for (const char* text :
       {R"({"br-rail0":7})", R"({"br-rail0":{"neighborCapabilities":[]}})",
        R"({"br-rail0":{"neighborCapabilities":{"gracefulRestart":"advertisedAndReceived"}}})"})
    EXPECT_FALSE(Neighbor(text).owes_end_of_rib) << text;
  Session session{.interface = "br-rail0"};
  EXPECT_FALSE(DecodeNeighbor("{", session));
}

}  // namespace
}  // namespace rail::frr
