#include "cmd/railctl/accept/forge.h"

namespace rail::accept {
namespace {

constexpr uint16_t kIpv4 = 0x0800;
constexpr uint16_t kIpv6 = 0x86DD;
constexpr uint16_t kArp = 0x0806;
constexpr uint16_t kTag = 0x8100;
constexpr uint16_t kSourcePort = 49152;

// Numbers in network order.
std::string Put(std::initializer_list<uint16_t> words) {
  std::string bytes;
  for (const uint16_t word : words) {
    bytes += static_cast<char>(word >> 8);
    bytes += static_cast<char>(word & 0xff);
  }
  return bytes;
}

std::string Of(const MacAddress& mac) {
  return {mac.bytes.begin(), mac.bytes.end()};
}

std::string Of(const IpAddress& address) {
  return std::string(address.bytes());
}

// The Internet checksum (RFC 1071).
uint16_t Checksum(std::string_view bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    sum += i % 2 == 0 ? uint32_t{byte} << 8 : byte;
  }
  while ((sum >> 16) != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

// `payload` with the checksum over it and the pseudo header at `offset`.
std::string Summed(const IpAddress& source, const IpAddress& target, uint8_t protocol, std::string payload,
                   size_t offset) {
  const auto length = static_cast<uint16_t>(payload.size());
  const std::string pseudo = Of(source) + Of(target) + Put({protocol, length});
  const uint16_t sum = Checksum(pseudo + payload);
  return payload.replace(offset, 2, Put({sum == 0 ? uint16_t{0xffff} : sum}));
}

}  // namespace

std::string Ethernet(const Link& link, const Packet& packet) {
  std::string frame = Of(link.target) + Of(link.source);
  if (link.vlan) frame += Put({kTag, *link.vlan});
  frame += Put({packet.type}) + packet.bytes;
  constexpr size_t kShortest = 60;  // without its checksum
  if (frame.size() < kShortest) frame.resize(kShortest);
  return frame;
}

Packet Ip(const IpAddress& source, const IpAddress& target, uint8_t protocol, const std::string& payload,
          uint8_t tos) {
  const auto length = static_cast<uint16_t>(payload.size());
  if (source.is_v6()) {
    const auto first = static_cast<uint16_t>(0x6000 | tos << 4);
    const auto next = static_cast<uint16_t>(protocol << 8 | 255);
    return {kIpv6, Put({first, 0, length, next}) + Of(source) + Of(target) + payload};
  }
  const auto total = static_cast<uint16_t>(20 + length);
  const auto next = static_cast<uint16_t>(64 << 8 | protocol);
  std::string head =
      Put({static_cast<uint16_t>(0x4500 | tos), total, 1, 0, next, 0}) + Of(source) + Of(target);
  head.replace(10, 2, Put({Checksum(head)}));
  return {kIpv4, head + payload};
}

std::string Udp(const IpAddress& source, const IpAddress& target, uint16_t port, const std::string& payload) {
  const auto length = static_cast<uint16_t>(8 + payload.size());
  return Summed(source, target, kUdp, Put({kSourcePort, port, length, 0}) + payload, 6);
}

std::string TcpSyn(const IpAddress& source, const IpAddress& target, uint16_t port) {
  constexpr uint16_t kHeadOfFiveWordsAndSyn = 0x5002;
  return Summed(source, target, kTcp,
                Put({kSourcePort, port, 0, 1, 0, 0, kHeadOfFiveWordsAndSyn, 64240, 0, 0}), 16);
}

std::string AnswerMark(const IpAddress& source, const IpAddress& target, uint16_t port) {
  return Of(target) + Of(source) + Put({port, kSourcePort});
}

std::string IcmpV6(const IpAddress& source, const IpAddress& target, uint8_t type, const std::string& body) {
  return Summed(source, target, kIcmpV6, Put({static_cast<uint16_t>(type << 8), 0}) + body, 2);
}

Packet ArpRequest(const MacAddress& sender_mac, const IpAddress& sender, const IpAddress& wanted,
                  const std::string& trailer) {
  return {kArp, Put({1, kIpv4, 0x0604, 1}) + Of(sender_mac) + Of(sender) + std::string(6, '\0') + Of(wanted) +
                    trailer};
}

IpAddress LinkLocal(const MacAddress& mac) {
  std::string bytes = Put({0xfe80, 0, 0, 0}) + Of(mac).substr(0, 3) + Put({0xfffe}) + Of(mac).substr(3);
  bytes[8] = static_cast<char>(bytes[8] ^ 2);
  return IpAddress::FromBytes(bytes).value();
}

std::optional<uint8_t> TosOf(const std::string& frame) {
  if (frame.size() < 16) return {};
  const std::string type = frame.substr(12, 2);
  const auto at = [&](size_t i) { return static_cast<uint8_t>(frame[i]); };
  if (type == Put({kIpv4})) return at(15);
  if (type == Put({kIpv6})) return static_cast<uint8_t>(at(14) << 4 | at(15) >> 4);
  return {};
}

bool IsRefusal(const std::string& frame) {
  constexpr size_t kFlags = 13;
  constexpr char kRst = 4;
  const bool v6 = frame.size() > 14 && frame.substr(12, 2) == Put({kIpv6});
  const size_t at = 14 + (v6 ? 40 : 20) + kFlags;
  return frame.size() > at && (frame[at] & kRst) != 0;
}

}  // namespace rail::accept
