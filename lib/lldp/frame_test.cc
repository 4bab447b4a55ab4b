// What is read of a frame, and that no frame makes it read anything else.
#include "lib/lldp/frame.h"

#include <gmock/gmock.h>

namespace rail::lldp {
namespace {

using ::testing::HasSubstr;

std::string Field(uint8_t type, const std::string& value) {
  const auto head = static_cast<uint16_t>(type << 9 | value.size());
  return std::string{static_cast<char>(head >> 8), static_cast<char>(head & 0xff)} + value;
}
std::string Kind(char kind, const std::string& value) {
  return kind + value;
}
const std::string kHead = std::string("\x01\x80\xc2\x00\x00\x0e\x26\x6b\xdd\x05\x04\x93\x88\xcc", 14);
const std::string kEnd(2, '\0');
const std::string kChassisField = Field(1, Kind(4, "\x26\x6b\xdd\x05\x04\x93"));
const std::string kPortField = Field(2, Kind(5, "swp3"));
const std::string kTtlField = Field(3, std::string("\x00\x78", 2));

std::string Refusal(const std::string& frame) {
  const auto parsed = Parse(frame);
  return parsed ? "" : parsed.error().message;
}

TEST(Frame, SaysWhichSwitchAndWhichPort) {
  const auto neighbour = Parse(kHead + kChassisField + kPortField + kTtlField + Field(4, "to node 7") +
                               Field(5, "leaf3") + Field(6, "an operating system") +
                               Field(127, std::string("\x00\x80\xc2\x01", 4)) + kEnd + std::string(30, '\0'));
  ASSERT_TRUE(neighbour) << neighbour.error().message;
  EXPECT_EQ(*neighbour, (Neighbour{.chassis = "26:6b:dd:05:04:93",
                                   .port = "swp3",
                                   .port_description = "to node 7",
                                   .system_name = "leaf3",
                                   .ttl = 120}));
}

TEST(Frame, MayEndWithoutTheEndField) {
  const auto neighbour = Parse(kHead + kChassisField + kPortField + kTtlField);
  ASSERT_TRUE(neighbour) << neighbour.error().message;
  EXPECT_EQ(neighbour->system_name, "");
}

TEST(Frame, ChassisAndPortHaveSeveralKindsOfNames) {
  const auto id = [](const std::string& chassis, const std::string& port) {
    const auto neighbour = Parse(kHead + Field(1, chassis) + Field(2, port) + kTtlField + kEnd);
    return neighbour ? neighbour->chassis + " " + neighbour->port : neighbour.error().message;
  };
  EXPECT_EQ(id(Kind(7, "leaf3"), Kind(3, "\x26\x6b\xdd\x05\x04\x94")), "leaf3 26:6b:dd:05:04:94");
  EXPECT_EQ(id(Kind(5, std::string("\x01\x0a\xff\x01\x03", 5)), Kind(7, "17")), "10.255.1.3 17");
  EXPECT_EQ(id(Kind(5, std::string("\x02\xfe\x80", 3) + std::string(13, '\0') + "\x07"), Kind(1, "to n7")),
            "fe80::7 to n7");
  EXPECT_EQ(id(Kind(5, std::string("\x06\x01\x02", 3)), Kind(4, "\x09\x01")), "060102 0901") << "no IP";
}

TEST(Frame, TextHasNoControlCharacters) {
  const auto neighbour =
      Parse(kHead + kChassisField + Field(2, Kind(5, std::string("sw\x1b[31mp\n3\0\0", 11))) + kTtlField +
            Field(5, "leaf\x7f") + kEnd);
  ASSERT_TRUE(neighbour) << neighbour.error().message;
  EXPECT_EQ(neighbour->port, "sw?[31mp?3");
  EXPECT_EQ(neighbour->system_name, "leaf?");
}

TEST(Frame, WhatIsWrongIsSaid) {
  EXPECT_THAT(Refusal(""), HasSubstr("of 0 bytes"));
  EXPECT_THAT(Refusal(kHead + std::string(1600, 'x')), HasSubstr("bytes"));
  EXPECT_THAT(Refusal(kHead.substr(0, 12) + "\x08\x06" + kChassisField + kPortField + kTtlField),
              HasSubstr("another type"));
  EXPECT_THAT(Refusal(kHead), HasSubstr("lacks"));
  EXPECT_THAT(Refusal(kHead + kChassisField + kPortField + kEnd), HasSubstr("lacks"));
  EXPECT_THAT(Refusal(kHead + kPortField + kChassisField + kTtlField), HasSubstr("out of order"));
  EXPECT_THAT(Refusal(kHead + kChassisField + Field(5, "leaf3") + kPortField + kTtlField),
              HasSubstr("out of order"));
  EXPECT_THAT(Refusal(kHead + kChassisField + kPortField + kTtlField + kPortField),
              HasSubstr("out of order"));
  EXPECT_THAT(Refusal(kHead + Field(1, "\x04")), HasSubstr("of 1 bytes"));
  EXPECT_THAT(Refusal(kHead + kChassisField + kPortField + Field(3, "x")), HasSubstr("time to live"));
  EXPECT_THAT(Refusal(kHead + kChassisField + kPortField + kTtlField + "\x0b\xff"), HasSubstr("ends after"));
  EXPECT_THAT(Refusal(kHead + kChassisField + kPortField + kTtlField + "\x0a"), HasSubstr("head of a field"));
}

TEST(Frame, NoPieceOfAFrameIsTakenForAWholeOne) {
  const std::string whole = kHead + kChassisField + kPortField + kTtlField;
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(Parse(whole.substr(0, size))) << size;
  EXPECT_TRUE(Parse(whole));
}

}  // namespace
}  // namespace rail::lldp
