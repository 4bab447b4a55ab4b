#include "lib/frr/bmp/update.h"

#include <gtest/gtest.h>

#include "lib/frr/bmp/testing/wire.h"

namespace rail::bmp {
namespace {

using namespace testing;

const tenancy::LargeCommunity kTenant{4200000000, 0x54000000, 7};
const tenancy::LargeCommunity kRail{4200000000, 0x52000000, 0};

IpAddress Ip(const char* text) {
  return IpAddress::Parse(text).value();
}

// An UPDATE of these attributes that announces 10.0.3.7/32.
std::string With(const std::string& attributes) {
  return BgpMessage(
      2, U16(0) + U16(static_cast<uint16_t>(attributes.size())) + attributes + Nlri({"10.0.3.7/32"}));
}

TEST(DecodeUpdate, TellsBothFamiliesAndTheirCommunities) {
  const auto update = DecodeUpdate(BgpUpdate({.announced = {"10.0.3.7/32", "10.0.3.8/32", "fd00::7/128"},
                                              .withdrawn = {"10.0.3.9/32", "fd00::9/128"},
                                              .communities = {kTenant, kRail}}));
  ASSERT_TRUE(update) << update.error().message;
  EXPECT_EQ(update->announced, (std::vector{Ip("10.0.3.7"), Ip("10.0.3.8"), Ip("fd00::7")}));
  EXPECT_EQ(update->withdrawn, (std::vector{Ip("10.0.3.9"), Ip("fd00::9")}));
  EXPECT_EQ(update->communities, (std::vector{kRail, kTenant}));
  EXPECT_FALSE(update->end_of_rib);
  EXPECT_FALSE(update->treated_as_withdraw);
}

TEST(DecodeUpdate, PassesOverPrefixesThatAreNoHost) {
  const auto update = DecodeUpdate(
      BgpUpdate({.announced = {"0.0.0.0/0", "10.0.3.0/24", "10.0.3.6/31", "10.0.3.7/32", "fd00::/64"},
                 .withdrawn = {"10.0.0.0/9"}}));
  ASSERT_TRUE(update) << update.error().message;
  EXPECT_EQ(update->announced, std::vector{Ip("10.0.3.7")});
  EXPECT_TRUE(update->withdrawn.empty());
}

TEST(DecodeUpdate, KnowsTheEndOfATable) {
  EXPECT_EQ(DecodeUpdate(BgpEndOfRib(Family::kIpv4)).value().end_of_rib, Family::kIpv4);
  EXPECT_EQ(DecodeUpdate(BgpEndOfRib(Family::kIpv6)).value().end_of_rib, Family::kIpv6);
  // Withdrawing no prefix of a family that is not ours ends nothing of ours: VPNv4.
  const std::string vpn = Attribute(0x80, 15, U16(1) + U8(128));
  EXPECT_FALSE(
      DecodeUpdate(BgpMessage(2, U16(0) + U16(static_cast<uint16_t>(vpn.size())) + vpn)).value().end_of_rib);
  EXPECT_FALSE(DecodeUpdate(BgpUpdate({.withdrawn = {"fd00::9/128"}})).value().end_of_rib);
}

TEST(DecodeUpdate, ReadsIpv4InMpReach) {
  // RFC 8950: IPv4 prefixes with an IPv6 next hop.
  const auto update = DecodeUpdate(BgpMessage(2, [] {
    const std::string mp = Attribute(
        0x80, 14, U16(1) + U8(1) + U8(16) + std::string(16, '\xfe') + U8(0) + Nlri({"10.0.3.7/32"}));
    return U16(0) + U16(static_cast<uint16_t>(mp.size())) + mp;
  }()));
  ASSERT_TRUE(update) << update.error().message;
  EXPECT_EQ(update->announced, std::vector{Ip("10.0.3.7")});
}

// RFC 7606: the prefixes are known, what was said about them is not to be trusted.
TEST(DecodeUpdate, TakesAMalformedAttributeForAWithdrawal) {
  const std::string good = U32(1) + U32(2) + U32(3);
  for (const std::string& attributes : {
           Attribute(0xc0, 32, good + "x"),             // no multiple of 12
           Attribute(0xc0, 32, ""),                     // RFC 8092 section 5
           Attribute(0x40, 32, good),                   // not optional
           Attribute(0x80, 32, good),                   // not transitive
           Attribute(0x40, 1, U8(3)),                   // no such origin
           Attribute(0x40, 1, U16(0)),                  // two bytes of origin
           Attribute(0x40, 2, U8(2) + U8(3) + U32(1)),  // three AS numbers in four bytes
           Attribute(0x40, 2, U8(9) + U8(1) + U32(1)),  // no such segment
           U8(0xc0) + U8(32) + U8(200) + good,          // longer than all attributes
           U8(0xd0) + U8(32) + U8(1),                   // half of an extended length
       }) {
    const auto update = DecodeUpdate(With(attributes));
    ASSERT_TRUE(update) << update.error().message;
    EXPECT_TRUE(update->treated_as_withdraw);
    EXPECT_TRUE(update->announced.empty());
    EXPECT_TRUE(update->communities.empty());
    EXPECT_EQ(update->withdrawn, std::vector{Ip("10.0.3.7")});
  }
}

TEST(DecodeUpdate, TakesAsNumbersOfEitherWidth) {
  EXPECT_FALSE(DecodeUpdate(With(Attribute(0x40, 2, U8(2) + U8(1) + U16(65001))), AsSize::kTwo)
                   .value()
                   .treated_as_withdraw);
  EXPECT_FALSE(DecodeUpdate(With(Attribute(0x40, 2, U8(2) + U8(1) + U16(65001))), AsSize::kFour)
                   .value()
                   .treated_as_withdraw);
  EXPECT_FALSE(
      DecodeUpdate(With(Attribute(0x40, 2, U8(2) + U8(1) + U32(4200000001)))).value().treated_as_withdraw);
}

TEST(DecodeUpdate, FirstOfTwoEqualAttributesCounts) {
  const auto update = DecodeUpdate(
      With(Attribute(0xc0, 32, U32(1) + U32(2) + U32(3)) + Attribute(0xc0, 32, U32(9) + U32(9) + U32(9))));
  ASSERT_TRUE(update);
  EXPECT_EQ(update->communities, (std::vector<tenancy::LargeCommunity>{{1, 2, 3}}));
}

TEST(DecodeUpdate, KnowsACommunityOnceHoweverOftenItStands) {
  const std::string one = U32(1) + U32(2) + U32(3);
  EXPECT_EQ(DecodeUpdate(With(Attribute(0xc0, 32, one + one))).value().communities.size(), 1U);
}

TEST(DecodeUpdate, RefusesWhatHidesItsPrefixes) {
  const std::string mp_empty = Attribute(0x80, 15, U16(2) + U8(1));
  const std::string twice = mp_empty + mp_empty;
  for (const std::string& message : {
           std::string(),
           std::string(18, '\xff'),
           BgpMessage(4, ""),                                  // KEEPALIVE
           BgpMessage(2, U16(5) + U16(0)),                     // withdrawn routes beyond the end
           BgpMessage(2, U16(0) + U16(9)),                     // attributes beyond the end
           BgpMessage(2, U16(0) + U16(0) + U8(33) + "12345"),  // 33 bits
           BgpMessage(2, U16(0) + U16(0) + U8(32) + "123"),    // three of four bytes
           BgpMessage(2, U16(2) + U8(32) + "1" + U16(0)),      // the same, withdrawn
           With(Attribute(0x80, 14, U16(2) + U8(1) + U8(200) + "next hop")),
           With(Attribute(0x80, 14, U16(2) + U8(1) + U8(0) + U8(0) + U8(129))),
           With(Attribute(0x80, 15, U16(2))),
           With(Attribute(0x80, 15, U16(2) + U8(1) + U8(129))),
           With(twice),
           BgpUpdate({.announced = {"10.0.3.7/32"}}) + "x",
       }) {
    EXPECT_FALSE(DecodeUpdate(message));
  }
}

TEST(DecodeUpdate, SurvivesEveryCut) {
  const std::string whole = BgpUpdate({.announced = {"10.0.3.7/32", "fd00::7/128"},
                                       .withdrawn = {"10.0.3.9/32", "fd00::9/128"},
                                       .communities = {kTenant, kRail}});
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(DecodeUpdate(whole.substr(0, size)));
    std::string cut = whole.substr(0, size);
    if (size < 19) continue;
    cut.replace(16, 2, U16(static_cast<uint16_t>(size)));  // a header that agrees with the cut
    const auto update = DecodeUpdate(cut);
    EXPECT_TRUE(!update || update->announced.size() <= 2);
  }
}

TEST(DecodeOpenFamilies, AreThoseOfTheCapabilities) {
  EXPECT_EQ(DecodeOpenFamilies(BgpOpen({Family::kIpv4, Family::kIpv6})).value(),
            (std::vector{Family::kIpv4, Family::kIpv6}));
  EXPECT_EQ(DecodeOpenFamilies(BgpOpen({Family::kIpv6})).value(), std::vector{Family::kIpv6});
  EXPECT_EQ(DecodeOpenFamilies(BgpOpen({})).value(), std::vector{Family::kIpv4})
      << "RFC 4760: none offered is IPv4";
}

TEST(DecodeOpenFamilies, ReadsExtendedParameters) {
  // RFC 9072: both length octets are 255, then two-byte lengths.
  const std::string capability = U8(1) + U8(4) + U16(2) + U8(0) + U8(1);
  const std::string parameter = U8(2) + U16(static_cast<uint16_t>(capability.size())) + capability;
  const std::string open = BgpMessage(1, U8(4) + U16(23456) + U16(9) + U32(1) + U8(255) + U8(255) +
                                             U16(static_cast<uint16_t>(parameter.size())) + parameter);
  EXPECT_EQ(DecodeOpenFamilies(open).value(), std::vector{Family::kIpv6});
}

TEST(DecodeOpenFamilies, RefusesWhatIsCutShort) {
  const std::string whole = BgpOpen({Family::kIpv4});
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(DecodeOpenFamilies(whole.substr(0, size)));
  EXPECT_FALSE(DecodeOpenFamilies(
      BgpMessage(1, U8(4) + U16(1) + U16(9) + U32(1) + U8(4) + U8(2) + U8(2) + U8(1) + U8(9))));
}

}  // namespace
}  // namespace rail::bmp
