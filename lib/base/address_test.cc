#include "lib/base/address.h"

#include <gtest/gtest.h>

#include <string>

namespace rail {
namespace {

using namespace std::string_literals;

TEST(MacAddress, PrintsWhatItParsesInLowerCase) {
  const auto mac = MacAddress::Parse("02:52:41:49:4C:0a");
  ASSERT_TRUE(mac);
  EXPECT_EQ(mac->ToString(), "02:52:41:49:4c:0a");
  EXPECT_EQ(MacAddress::Parse(mac->ToString()).value(), *mac);
  EXPECT_FALSE(mac->is_zero());
  EXPECT_FALSE(mac->is_multicast());
}

TEST(MacAddress, KnowsZeroAndMulticast) {
  EXPECT_TRUE(MacAddress().is_zero());
  EXPECT_TRUE(MacAddress::Parse("01:00:5e:00:00:01")->is_multicast());
  EXPECT_TRUE(MacAddress::Parse("ff:ff:ff:ff:ff:ff")->is_multicast());
}

TEST(MacAddress, RefusesEverythingElse) {
  for (const std::string& text : {""s, "02:52:41:49:4c"s, "02:52:41:49:4c:0a:0b"s, "02-52-41-49-4c-0a"s,
                                  "2:52:41:49:4c:0a"s, "02:52:41:49:4c:0g"s, "02:52:41:49:4c:0a "s,
                                  "0252.4149.4c0a"s, "02:52:41:49:4c:+a"s, "02:52:41:49:4c\0:a"s}) {
    const auto mac = MacAddress::Parse(text);
    ASSERT_FALSE(mac) << text;
    EXPECT_EQ(mac.error().code, Code::kInvalid);
  }
}

TEST(MacAddress, QuotesNoMoreThanALineOfWhatItRefuses) {
  EXPECT_LT(MacAddress::Parse(std::string(100000, 'x')).error().message.size(), 200U);
}

TEST(IpAddress, PrintsTheCanonicalText) {
  const struct {
    const char* text;
    const char* canonical;
  } kCases[] = {{"10.0.3.7", "10.0.3.7"},
                {"0.0.0.0", "0.0.0.0"},
                {"255.255.255.255", "255.255.255.255"},
                {"2001:DB8:0:0:0:0:0:7", "2001:db8::7"},
                {"2001:db8::0:7", "2001:db8::7"},
                {"::", "::"},
                {"fe80:0::1", "fe80::1"},
                {"1:0:0:2:0:0:0:3", "1:0:0:2::3"}};
  for (const auto& [text, canonical] : kCases) {
    const auto address = IpAddress::Parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->ToString(), canonical);
    EXPECT_EQ(IpAddress::Parse(canonical).value(), *address);
    EXPECT_EQ(IpAddress::FromBytes(address->bytes()).value(), *address);
  }
}

TEST(IpAddress, RefusesWhatIsNoAddressOrASecondNameOfOne) {
  for (const std::string& text :
       {""s, "10.0.3"s, "10.0.3.256"s, "010.0.3.7"s, "10.0.3.7/32"s, "0x0a.0.3.7"s, " 10.0.3.7"s,
        "10.0.3.7 "s, "10.0.3.7\n"s, "10.0.3.7\0"s, "10.0.3.7\0x"s, "::ffff:10.0.3.7"s, "::ffff:a00:307"s,
        "fe80::1%eth0"s, ":::"s, "1::2::3"s, "[::1]"s, std::string(1000, '1')}) {
    const auto address = IpAddress::Parse(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().code, Code::kInvalid);
    EXPECT_LT(address.error().message.size(), 200U);
  }
}

TEST(IpAddress, TakesFourOrSixteenBytes) {
  EXPECT_EQ(IpAddress::FromBytes("\x0a\0\x03\x07"s)->ToString(), "10.0.3.7");
  EXPECT_TRUE(IpAddress::FromBytes(std::string(16, '\0'))->is_v6());
  EXPECT_FALSE(IpAddress::FromBytes(""));
  EXPECT_FALSE(IpAddress::FromBytes("12345"));
}

TEST(IpAddress, TellsTheKindsApart) {
  const auto ip = [](const char* text) { return IpAddress::Parse(text).value(); };
  EXPECT_TRUE(ip("0.0.0.0").is_unspecified());
  EXPECT_TRUE(ip("::").is_unspecified());
  EXPECT_FALSE(ip("0.0.0.1").is_unspecified());
  EXPECT_FALSE(ip("::1").is_unspecified());

  EXPECT_TRUE(ip("224.0.0.1").is_multicast());
  EXPECT_TRUE(ip("239.255.255.255").is_multicast());
  EXPECT_FALSE(ip("223.255.255.255").is_multicast());
  EXPECT_FALSE(ip("240.0.0.1").is_multicast());
  EXPECT_TRUE(ip("ff02::1").is_multicast());
  EXPECT_FALSE(ip("fe80::1").is_multicast());

  EXPECT_TRUE(ip("127.1.2.3").is_loopback());
  EXPECT_FALSE(ip("128.0.0.1").is_loopback());
  EXPECT_TRUE(ip("::1").is_loopback());
  EXPECT_FALSE(ip("::2").is_loopback());
  EXPECT_FALSE(ip("1::1").is_loopback());

  EXPECT_TRUE(ip("169.254.1.1").is_link_local());
  EXPECT_FALSE(ip("169.253.1.1").is_link_local());
  EXPECT_TRUE(ip("fe80::1").is_link_local());
  EXPECT_TRUE(ip("febf::1").is_link_local());
  EXPECT_FALSE(ip("fec0::1").is_link_local());

  EXPECT_TRUE(ip("255.255.255.255").is_broadcast());
  EXPECT_FALSE(ip("255.255.255.254").is_broadcast());
  EXPECT_FALSE(ip("ffff:ffff::").is_broadcast());
  for (const char* routed : {"10.0.3.7", "192.0.2.1", "2001:db8::7", "fd00::7"})
    EXPECT_TRUE(ip(routed).is_routed_unicast()) << routed;
  for (const char* other : {"0.0.0.0", "::", "127.0.0.1", "::1", "169.254.1.1", "fe80::1", "224.0.0.1",
                            "ff02::1", "255.255.255.255"})
    EXPECT_FALSE(ip(other).is_routed_unicast()) << other;
}

TEST(IpAddress, DoesNotConfuseTheFamilies) {
  EXPECT_NE(IpAddress::Parse("0.0.0.0").value(), IpAddress::Parse("::").value());
  EXPECT_EQ(IpAddress::Parse("10.0.3.7")->ToHostPrefix(), "10.0.3.7/32");
  EXPECT_EQ(IpAddress::Parse("2001:db8::7")->ToHostPrefix(), "2001:db8::7/128");
}

TEST(IpPrefix, KeepsTheHostBits) {
  const auto prefix = IpPrefix::Parse("10.0.3.7/24");
  ASSERT_TRUE(prefix);
  EXPECT_EQ(prefix->ToString(), "10.0.3.7/24");
  EXPECT_FALSE(prefix->is_host());
  EXPECT_TRUE(IpPrefix::Parse("10.0.3.7/32")->is_host());
  EXPECT_FALSE(IpPrefix::Parse("2001:db8::7/32")->is_host());
  EXPECT_TRUE(IpPrefix::Parse("2001:db8::7/128")->is_host());
  EXPECT_EQ(IpPrefix::Parse("::/0")->length, 0);
}

TEST(IpPrefix, ContainsWhatBeginsWithItsBits) {
  const auto contains = [](const char* prefix, const char* address) {
    return IpPrefix::Parse(prefix)->Contains(*IpAddress::Parse(address));
  };
  EXPECT_TRUE(contains("10.0.0.0/16", "10.0.255.255"));
  EXPECT_FALSE(contains("10.0.0.0/16", "10.1.0.0"));
  EXPECT_TRUE(contains("10.0.2.0/23", "10.0.3.7"));
  EXPECT_FALSE(contains("10.0.2.0/23", "10.0.4.0"));
  EXPECT_TRUE(contains("10.0.3.7/32", "10.0.3.7"));
  EXPECT_FALSE(contains("10.0.3.7/32", "10.0.3.6"));
  EXPECT_TRUE(contains("0.0.0.0/0", "192.0.2.1"));
  EXPECT_FALSE(contains("0.0.0.0/0", "::1")) << "another family";
  EXPECT_TRUE(contains("fd00:1::/32", "fd00:1:ffff::1"));
  EXPECT_FALSE(contains("fd00:1::/128", "fd00:1::1"));
  EXPECT_TRUE(IpPrefix::Parse("10.0.2.0/23")->HasNoHostBits());
  EXPECT_FALSE(IpPrefix::Parse("10.0.3.0/23")->HasNoHostBits());
  EXPECT_TRUE(IpPrefix::Parse("fd00::1/128")->HasNoHostBits());
  EXPECT_FALSE(IpPrefix::Parse("fd00::1/127")->HasNoHostBits());
}

TEST(IpPrefix, RefusesALengthThatIsNone) {
  for (const char* text :
       {"10.0.3.7", "10.0.3.7/", "10.0.3.7/33", "10.0.3.7/-1", "10.0.3.7/+8", "10.0.3.7/ 8", "10.0.3.7/8 ",
        "10.0.3.7/08", "10.0.3.7/8/8", "10.0.3.7/0x8", "10.0.3.7/4294967304", "::/129", "/8", "x/8"}) {
    const auto prefix = IpPrefix::Parse(text);
    ASSERT_FALSE(prefix) << text;
    EXPECT_EQ(prefix.error().code, Code::kInvalid);
  }
}

}  // namespace
}  // namespace rail
