#include "lib/frr/bmp/message.h"

#include <gtest/gtest.h>

#include "lib/frr/bmp/testing/wire.h"

namespace rail::bmp {
namespace {

using namespace testing;

// What bgpd 8.4.4 sent: its only neighbor is unnumbered, 4200000101 with the identifier 10.255.0.101, both families.
constexpr const char* kInitiation = "030000001f040001000f4652526f7574696e6720382e342e3400020002766d";
constexpr const char* kPeerUp =
    "030000013a0300800000000000000000fe80000000000000e85e31fffe33e2dffa56ea650aff00656b0164c000087d64"
    "fe80000000000000c8bd5efffed02dec956600b3ffffffffffffffffffffffffffffffff007b01045ba000090aff0001"
    "5e020601040001000102080506000100010002020601040002000102028000020202000202460002064104fa56ea0102"
    "020600020a450800010101000201010206490402766d0002044002c0780210470e0001018000000000020180000000ff"
    "ffffffffffffffffffffffffffffff007b01045ba000090aff00655e0206010400010001020805060001000100020206"
    "01040002000102028000020202000202460002064104fa56ea6502020600020a45080001010100020101020649040276"
    "6d0002044002c0780210470e0001018000000000020180000000";
constexpr const char* kEndOfIpv4 =
    "03000000470000800000000000000000fe80000000000000e85e31fffe33e2dffa56ea650aff00650000000000000000"
    "ffffffffffffffffffffffffffffffff00170200000000";
constexpr const char* kEndOfIpv6 =
    "030000004d0000800000000000000000fe80000000000000e85e31fffe33e2dffa56ea650aff00650000000000000000"
    "ffffffffffffffffffffffffffffffff001d0200000006800f03000201";
constexpr const char* kEndOfIpv4PostPolicy =
    "03000000470000c00000000000000000fe80000000000000e85e31fffe33e2dffa56ea650aff00650000000000000000"
    "ffffffffffffffffffffffffffffffff00170200000000";
constexpr const char* kAnnounceIpv4 =
    "03000000800000800000000000000000fe80000000000000e85e31fffe33e2dffa56ea650aff00656b01654400087d63"
    "ffffffffffffffffffffffffffffffff00500200000034400101005002000a0202fa56ea01fa56ea6580040400000000"
    "c02018fa56ea005200000000000000fa56ea005400000000000007200a000307";
constexpr const char* kAnnounceIpv6 =
    "03000000b50000800000000000000000fe80000000000000e85e31fffe33e2dffa56ea650aff00656b01654500087d63"
    "ffffffffffffffffffffffffffffffff0085020000006e400101005002000a0202fa56ea01fa56ea6580040400000000"
    "c02018fa56ea005200000000000000fa56ea005400000000000007900e003600020120fe80000000000000e85e31fffe"
    "33e2dffe80000000000000e85e31fffe33e2df0080fd000000000000000000000000000007";
constexpr const char* kWithdrawIpv4 =
    "030000004c0000800000000000000000fe80000000000000e85e31fffe33e2dffa56ea650aff00656b01654600087d63"
    "ffffffffffffffffffffffffffffffff001c020005200a0003070000";
constexpr const char* kWithdrawIpv6 =
    "030000005f0000800000000000000000fe80000000000000e85e31fffe33e2dffa56ea650aff00656b01654700087d63"
    "ffffffffffffffffffffffffffffffff002f0200000018900f001400020180fd000000000000000000000000000007";
constexpr const char* kPostPolicy =
    "03000000800000c00000000000000000fe80000000000000e85e31fffe33e2dffa56ea650aff00656b0164de00087d63"
    "ffffffffffffffffffffffffffffffff00500200000034400101005002000a0202fa56ea01fa56ea6580040400000000"
    "c02018fa56ea005200000000000000fa56ea005400000000000008200a000307";
constexpr const char* kPeerDown =
    "03000000460200800000000000000000fe80000000000000e85e31fffe33e2dffa56ea650aff00656b01654800087d63"
    "03ffffffffffffffffffffffffffffffff0015030604";
constexpr const char* kPeerDownNeverUp =
    "03000000330200800000000000000000fe80000000000000e85e31fffe33e2dffa56ea65000000006b01654d00087d64"
    "020000";

const Peer kLeaf{0, IpAddress::Parse("fe80::e85e:31ff:fe33:e2df").value(), 4200000101, 0x0aff0065};
const tenancy::LargeCommunity kTenant{4200000000, 0x54000000, 7};
const tenancy::LargeCommunity kRail{4200000000, 0x52000000, 0};

IpAddress Ip(const char* text) {
  return IpAddress::Parse(text).value();
}

using Kind = Message::Kind;

Message DecodeAs(Kind kind, std::string_view bytes) {
  auto message = Decode(bytes);
  if (!message) {
    ADD_FAILURE() << message.error().message;
    return {};
  }
  EXPECT_EQ(message->kind, kind) << message->reason;
  return *message;
}

TEST(RealBgpd, SaysWhoItIs) {
  DecodeAs(Kind::kStarted, FromHex(kInitiation));
}

TEST(RealBgpd, TellsASessionThatIsUp) {
  const auto up = DecodeAs(Kind::kPeerUp, FromHex(kPeerUp));
  EXPECT_EQ(up.peer, kLeaf);
  EXPECT_EQ(up.peer.ToString(), "fe80::e85e:31ff:fe33:e2df (AS 4200000101)");
  EXPECT_GT(up.since_ms, 1700000000000);
  EXPECT_TRUE(up.local.is_link_local());
  EXPECT_NE(up.remote_port, 0);
  EXPECT_EQ(up.families, (std::vector{Family::kIpv4, Family::kIpv6}));
}

TEST(RealBgpd, TellsASessionThatIsDown) {
  EXPECT_EQ(DecodeAs(Kind::kPeerDown, FromHex(kPeerDown)).peer, kLeaf);
  // A session that has not come up yet is told, too: its peer has no identifier.
  EXPECT_NE(DecodeAs(Kind::kPeerDown, FromHex(kPeerDownNeverUp)).peer, kLeaf);
}

TEST(RealBgpd, AnnouncesAndWithdraws) {
  const auto v4 = DecodeAs(Kind::kRoutes, FromHex(kAnnounceIpv4));
  EXPECT_EQ(v4.peer, kLeaf);
  EXPECT_EQ(v4.update, (Update{.announced = {Ip("10.0.3.7")},
                               .withdrawn = {},
                               .communities = {kRail, kTenant},
                               .as_path = {4200000001, 4200000101}}));
  const auto v6 = DecodeAs(Kind::kRoutes, FromHex(kAnnounceIpv6));
  EXPECT_EQ(v6.update, (Update{.announced = {Ip("fd00::7")},
                               .withdrawn = {},
                               .communities = {kRail, kTenant},
                               .as_path = {4200000001, 4200000101}}));
  EXPECT_EQ(DecodeAs(Kind::kRoutes, FromHex(kWithdrawIpv4)).update.withdrawn.size(), 1U);
  EXPECT_EQ(DecodeAs(Kind::kRoutes, FromHex(kWithdrawIpv6)).update.withdrawn.size(), 1U);
}

TEST(RealBgpd, EndsItsTableInTheNameOfBothPolicies) {
  EXPECT_EQ(DecodeAs(Kind::kRoutes, FromHex(kEndOfIpv4)).update.end_of_rib, Family::kIpv4);
  EXPECT_EQ(DecodeAs(Kind::kRoutes, FromHex(kEndOfIpv6)).update.end_of_rib, Family::kIpv6);
  DecodeAs(Kind::kOther, FromHex(kEndOfIpv4PostPolicy));
}

TEST(RealBgpd, RoutesAfterThePolicyAreNotTaken) {
  DecodeAs(Kind::kPostPolicy, FromHex(kPostPolicy));
}

TEST(Decode, ReadsAnIpv4Peer) {
  const Peer peer{5, Ip("192.0.2.1"), 65001, 7};
  const auto routes = DecodeAs(Kind::kRoutes, BmpRoutes(peer, BgpUpdate({.withdrawn = {"10.0.3.7/32"}})));
  EXPECT_EQ(routes.peer, peer);
}

TEST(Decode, PassesOverOtherTables) {
  const std::string update = BgpUpdate({.announced = {"10.0.3.7/32"}, .communities = {kTenant}});
  DecodeAs(Kind::kOther, BmpRoutes(kLeaf, update, 0x10));          // Adj-RIB-Out, RFC 8671
  for (const uint8_t type : {uint8_t{1}, uint8_t{2}, uint8_t{3}})  // VPN, local, Loc-RIB
    DecodeAs(Kind::kOther, BmpMessage(0, BmpPeerHeader(kLeaf, 0, 0, type) + update));
  DecodeAs(Kind::kOther, BmpMessage(1, BmpPeerHeader(kLeaf) + U32(0)));  // statistics
  DecodeAs(Kind::kOther, BmpMessage(6, BmpPeerHeader(kLeaf) + U32(0)));  // route mirroring
  DecodeAs(Kind::kOther, BmpMessage(200, "whatever"));
}

// FRR 10.3 and later name a VRF's peers RD instances, with the VRF's distinguisher; RFC 7854 also allows local ones.
TEST(Decode, TakesAVrfsPeersOnItsOwnConnectionAlone) {
  const Peer kept{0x0001007f000065, kLeaf.address, kLeaf.asn, kLeaf.bgp_id};
  const std::string update = BgpUpdate({.announced = {"10.0.3.7/32"}, .communities = {kTenant}});
  const std::string opens = std::string(16, '\0') + U16(179) + U16(40000) + BgpOpen({}) + BgpOpen({});
  for (const uint8_t type : {uint8_t{0}, uint8_t{1}, uint8_t{2}}) {
    const std::string header = BmpPeerHeader(kept, 0, 0, type);
    const auto up = Decode(BmpMessage(3, header + opens), Instance::kVrf);
    const auto routes = Decode(BmpMessage(0, header + update), Instance::kVrf);
    const auto down = Decode(BmpMessage(2, header + U8(4)), Instance::kVrf);
    ASSERT_TRUE(up && routes && down);
    EXPECT_EQ(up->kind, Kind::kPeerUp);
    EXPECT_EQ(routes->kind, Kind::kRoutes);
    EXPECT_EQ(down->kind, Kind::kPeerDown);
    for (const Peer& peer : {up->peer, routes->peer, down->peer}) EXPECT_EQ(peer, kLeaf);
    if (type != 0) DecodeAs(Kind::kOther, BmpMessage(0, header + update));
  }
}

TEST(Decode, ASessionOfAnotherInstanceIsSaid) {
  const std::string opens = std::string(16, '\0') + U16(179) + U16(40000) + BgpOpen({}) + BgpOpen({});
  for (const uint8_t type : {uint8_t{1}, uint8_t{2}, uint8_t{9}}) {
    const auto up = DecodeAs(Kind::kMalformed, BmpMessage(3, BmpPeerHeader(kLeaf, 0, 0, type) + opens));
    EXPECT_NE(up.reason.find("peer type " + std::to_string(type)), std::string::npos) << up.reason;
  }
  DecodeAs(Kind::kOther, BmpMessage(3, BmpPeerHeader(kLeaf, 0, 0, 3) + opens));  // Loc-RIB
  const auto unknown = Decode(BmpMessage(3, BmpPeerHeader(kLeaf, 0, 0, 9) + opens), Instance::kVrf);
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->kind, Kind::kMalformed);
}

TEST(Decode, OnlyFamiliesOfBothSidesCount) {
  const std::string up =
      BmpMessage(3, BmpPeerHeader(kLeaf, 1500) + std::string(16, '\0') + U16(179) + U16(40000) +
                        BgpOpen({Family::kIpv4, Family::kIpv6}) + BgpOpen({Family::kIpv6}));
  const auto decoded = DecodeAs(Kind::kPeerUp, up);
  EXPECT_EQ(decoded.families, std::vector{Family::kIpv6});
  EXPECT_EQ(decoded.since_ms, 1500);
  EXPECT_EQ(decoded.local_port, 179);
  EXPECT_EQ(decoded.remote_port, 40000);
}

// As of bgpd when two connections of one session have met: "missing TX OPEN message" in its log.
TEST(Decode, ASessionWhoseOpenIsNotKeptIsUpForAnyFamily) {
  const std::string bare = std::string(16, '\xff') + U16(19) + '\x01';
  for (const bool sent : {false, true}) {
    const std::string other = BgpOpen({Family::kIpv6});
    const std::string up = BmpMessage(3, BmpPeerHeader(kLeaf, 1500) + std::string(16, '\0') + U16(179) +
                                             U16(40000) + (sent ? other : bare) + bare);
    EXPECT_EQ(DecodeAs(Kind::kPeerUp, up).families.size(), sent ? 1U : 2U);
  }
}

TEST(Decode, SaysWhyTheRouterEnds) {
  EXPECT_EQ(DecodeAs(Kind::kEnded, BmpMessage(5, U16(1) + U16(2) + U16(2))).reason, "out of resources");
  EXPECT_EQ(DecodeAs(Kind::kEnded, BmpMessage(5, U16(0) + U16(2) + "hi")).reason, "no reason given");
  EXPECT_EQ(DecodeAs(Kind::kEnded, BmpMessage(5, U16(1) + U16(200))).reason, "no reason given");
  EXPECT_EQ(DecodeAs(Kind::kEnded, BmpMessage(5, U16(1) + U16(2) + U16(99))).reason, "no reason given");
}

TEST(Decode, WhatIsCutShortIsSaidAndPassedOver) {
  for (const std::string& whole :
       {BmpPeerUp(kLeaf), BmpPeerDown(kLeaf), BmpRoutes(kLeaf, BgpUpdate({.withdrawn = {"10.0.3.7/32"}}))}) {
    for (size_t size = 6; size < whole.size(); ++size) {
      std::string cut = whole.substr(0, size);
      cut.replace(1, 4, U32(static_cast<uint32_t>(size)));
      const auto message = Decode(cut);
      ASSERT_TRUE(message);
      const bool said = message->kind == Kind::kMalformed && !message->reason.empty();
      EXPECT_TRUE(said || message->kind == Kind::kPeerDown) << size;  // which may lack its reason
    }
  }
}

TEST(Framer, PutsMessagesTogetherHoweverTheyArrive) {
  const std::string stream = BmpMessage(4, "") + BmpPeerUp(kLeaf) +
                             BmpRoutes(kLeaf, BgpUpdate({.announced = {"10.0.3.7/32"}})) + BmpPeerDown(kLeaf);
  for (const size_t step : {size_t{1}, size_t{5}, size_t{7}, size_t{100}, stream.size()}) {
    Framer framer;
    std::vector<Kind> kinds;
    for (size_t at = 0; at < stream.size(); at += step) {
      framer.Feed(std::string_view(stream).substr(at, step));
      for (Message message;;) {
        const auto whole = framer.Next(message);
        ASSERT_TRUE(whole) << whole.error().message;
        if (!*whole) break;
        kinds.push_back(message.kind);
      }
    }
    EXPECT_EQ(kinds, (std::vector{Kind::kStarted, Kind::kPeerUp, Kind::kRoutes, Kind::kPeerDown})) << step;
  }
}

TEST(Framer, RefusesWhatIsNotBmp) {
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1"), U8(2) + U32(6) + U8(4), U8(3) + U32(5) + U8(4),
        U8(3) + U32(kMaxMessage + 1) + U8(0), U8(3) + U32(0xffffffff) + U8(0)}) {
    Framer framer;
    framer.Feed(bytes);
    Message message;
    EXPECT_FALSE(framer.Next(message));
  }
}

TEST(Framer, WaitsForTheRest) {
  Framer framer;
  Message message;
  EXPECT_FALSE(framer.Next(message).value());
  framer.Feed(U8(3) + U32(kMaxMessage));
  EXPECT_FALSE(framer.Next(message).value());
}

}  // namespace
}  // namespace rail::bmp
