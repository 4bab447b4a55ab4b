#include "cmd/railctl/accept/forge.h"

#include <gtest/gtest.h>

namespace rail::accept {
namespace {

const MacAddress kMac = MacAddress::Parse("02:00:00:00:00:01").value();
const MacAddress kOther = MacAddress::Parse("02:52:41:49:4c:00").value();
const IpAddress kA = IpAddress::Parse("10.0.0.1").value();
const IpAddress kB = IpAddress::Parse("10.0.0.2").value();
const IpAddress kA6 = IpAddress::Parse("fd00::1").value();
const IpAddress kB6 = IpAddress::Parse("fd00::2").value();

uint16_t Word(const std::string& bytes, size_t at) {
  return static_cast<uint16_t>(static_cast<uint8_t>(bytes[at]) << 8 | static_cast<uint8_t>(bytes[at + 1]));
}

// 0xffff for bytes whose checksum is right (RFC 1071): the sum of all words.
uint16_t Sum(const std::string& bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size(); i += 2)
    sum += static_cast<uint32_t>(static_cast<uint8_t>(bytes[i]) << 8) +
           (i + 1 < bytes.size() ? static_cast<uint8_t>(bytes[i + 1]) : 0);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

std::string Pseudo(const IpAddress& a, const IpAddress& b, uint8_t protocol, size_t length) {
  return std::string(a.bytes()) + std::string(b.bytes()) + std::string{0, static_cast<char>(protocol)} +
         std::string{static_cast<char>(length >> 8), static_cast<char>(length & 0xff)};
}

TEST(Forge, WritesEthernetWithAndWithoutATag) {
  const std::string plain = Ethernet({kMac, kOther, {}}, {0x0800, std::string(60, 'x')});
  EXPECT_EQ(plain.substr(0, 6), std::string("\x02\x52\x41\x49\x4c\0", 6));
  EXPECT_EQ(plain.substr(6, 6), std::string("\x02\0\0\0\0\x01", 6));
  EXPECT_EQ(Word(plain, 12), 0x0800);
  const std::string tagged = Ethernet({kMac, kOther, 100}, {0x0800, std::string(60, 'x')});
  EXPECT_EQ(Word(tagged, 12), 0x8100);
  EXPECT_EQ(Word(tagged, 14), 100);
  EXPECT_EQ(Word(tagged, 16), 0x0800);
  EXPECT_EQ(Ethernet({kMac, kOther, {}}, {0x0800, "x"}).size(), 60U) << "the shortest frame";
}

TEST(Forge, SumsHeadersAndPayloads) {
  const std::string udp = Udp(kA, kB, kRocePort, "odd");
  EXPECT_EQ(Word(udp, 2), kRocePort);
  EXPECT_EQ(Sum(Pseudo(kA, kB, kUdp, udp.size()) + udp), 0xffff);
  const std::string udp6 = Udp(kA6, kB6, 9, "even");
  EXPECT_EQ(Sum(Pseudo(kA6, kB6, kUdp, udp6.size()) + udp6), 0xffff);
  const std::string nd = IcmpV6(kA6, kB6, 136, std::string(20, 'n'));
  EXPECT_EQ(Sum(Pseudo(kA6, kB6, kIcmpV6, nd.size()) + nd), 0xffff);
  const Packet packet = Ip(kA, kB, kUdp, udp, 0x6a);
  EXPECT_EQ(packet.type, 0x0800);
  EXPECT_EQ(Sum(packet.bytes.substr(0, 20)), 0xffff);
  EXPECT_EQ(Word(packet.bytes, 2), packet.bytes.size());
}

TEST(Forge, ReadsBackTheTosByteOfBothFamilies) {
  for (const uint8_t tos : {uint8_t{0}, uint8_t{0x6a}, uint8_t{0xc2}, uint8_t{0xff}}) {
    EXPECT_EQ(TosOf(Ethernet({kMac, kOther, {}}, Ip(kA, kB, kUdp, Udp(kA, kB, 9, "m"), tos))), tos);
    EXPECT_EQ(TosOf(Ethernet({kMac, kOther, {}}, Ip(kA6, kB6, kUdp, Udp(kA6, kB6, 9, "m"), tos))), tos);
  }
  EXPECT_FALSE(TosOf(Ethernet({kMac, kBroadcast, {}}, ArpRequest(kMac, kA, kB, ""))));
  EXPECT_FALSE(TosOf("short"));
}

TEST(Forge, AsksForAConnectionAndKnowsTheAnswer) {
  for (const auto& [mine, theirs] : {std::pair(kA, kB), {kA6, kB6}}) {
    const std::string syn = TcpSyn(mine, theirs, kBgpPort);
    EXPECT_EQ(syn.size(), 20U);
    EXPECT_EQ(Word(syn, 2), kBgpPort);
    EXPECT_EQ(Word(syn, 12), 0x5002) << "no options, SYN";
    EXPECT_EQ(Sum(Pseudo(mine, theirs, kTcp, syn.size()) + syn), 0xffff);
    const std::string mark = AnswerMark(mine, theirs, kBgpPort);
    std::string answer = syn.substr(2, 2) + syn.substr(0, 2) + syn.substr(4);
    answer[13] = 0x12;  // SYN, ACK
    const auto frame_of = [&](const std::string& segment) {
      return Ethernet({kOther, kMac, {}}, Ip(theirs, mine, kTcp, segment));
    };
    EXPECT_NE(frame_of(answer).find(mark), std::string::npos);
    EXPECT_EQ(Ethernet({kMac, kOther, {}}, Ip(mine, theirs, kTcp, syn)).find(mark), std::string::npos)
        << "the question is no answer";
    EXPECT_FALSE(IsRefusal(frame_of(answer)));
    answer[13] = 0x14;  // RST, ACK
    EXPECT_TRUE(IsRefusal(frame_of(answer)));
  }
  EXPECT_FALSE(IsRefusal("")) << "nothing has come";
}

TEST(Forge, MakesALinkLocalAddressOfAMac) {
  EXPECT_EQ(LinkLocal(kMac).ToString(), "fe80::ff:fe00:1");
}

TEST(Forge, AsksByArpWithATrailer) {
  const std::string frame = Ethernet({kMac, kBroadcast, {}}, ArpRequest(kMac, kA, kB, "mark"));
  EXPECT_EQ(Word(frame, 12), 0x0806);
  EXPECT_EQ(Word(frame, 20), 1) << "a request";
  EXPECT_EQ(frame.substr(28, 4), std::string(kA.bytes()));
  EXPECT_EQ(frame.substr(38, 4), std::string(kB.bytes()));
  EXPECT_EQ(frame.substr(42, 4), "mark");
}

}  // namespace
}  // namespace rail::accept
