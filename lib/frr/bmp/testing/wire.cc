#include "lib/frr/bmp/testing/wire.h"

#include <stdexcept>

namespace rail::bmp::testing {
namespace {

std::string Number(uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

IpPrefix ParsePrefix(const std::string& text) {
  const auto prefix = IpPrefix::Parse(text);
  if (!prefix) throw std::invalid_argument(prefix.error().message);
  return *prefix;
}

std::vector<std::string> OfFamily(const std::vector<std::string>& prefixes, bool v6) {
  std::vector<std::string> found;
  for (const std::string& prefix : prefixes) {
    if (ParsePrefix(prefix).address.is_v6() == v6) found.push_back(prefix);
  }
  return found;
}

std::string Address16(const IpAddress& address) {
  return std::string(address.is_v6() ? 0 : 12, '\0') + std::string(address.bytes());
}

}  // namespace

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

std::string U8(uint8_t value) {
  return Number(value, 1);
}
std::string U16(uint16_t value) {
  return Number(value, 2);
}
std::string U32(uint32_t value) {
  return Number(value, 4);
}

std::string BgpMessage(uint8_t type, std::string_view body) {
  return std::string(16, '\xff') + U16(static_cast<uint16_t>(19 + body.size())) + U8(type) +
         std::string(body);
}

std::string Attribute(uint8_t flags, uint8_t type, std::string_view value) {
  const std::string length =
      (flags & 0x10) != 0 ? U16(static_cast<uint16_t>(value.size())) : U8(static_cast<uint8_t>(value.size()));
  return U8(flags) + U8(type) + length + std::string(value);
}

std::string Nlri(const std::vector<std::string>& prefixes) {
  std::string bytes;
  for (const std::string& text : prefixes) {
    const IpPrefix prefix = ParsePrefix(text);
    bytes += U8(prefix.length) + std::string(prefix.address.bytes().substr(0, (prefix.length + 7U) / 8));
  }
  return bytes;
}

std::string BgpUpdate(const UpdateParts& parts) {
  std::string attributes;
  if (!parts.announced.empty()) {
    attributes += Attribute(0x40, 1, U8(0));
    attributes += Attribute(0x50, 2, U8(2) + U8(1) + U32(4200010001));
  }
  std::string communities;
  for (const auto& community : parts.communities)
    communities += U32(community.asn) + U32(community.first) + U32(community.second);
  if (!communities.empty()) attributes += Attribute(0xd0, 32, communities);
  if (const auto v6 = OfFamily(parts.announced, true); !v6.empty())
    attributes += Attribute(0x90, 14, U16(2) + U8(1) + U8(16) + std::string(16, '\xfe') + U8(0) + Nlri(v6));
  if (const auto v6 = OfFamily(parts.withdrawn, true); !v6.empty())
    attributes += Attribute(0x90, 15, U16(2) + U8(1) + Nlri(v6));
  const std::string withdrawn = Nlri(OfFamily(parts.withdrawn, false));
  return BgpMessage(2, U16(static_cast<uint16_t>(withdrawn.size())) + withdrawn +
                           U16(static_cast<uint16_t>(attributes.size())) + attributes +
                           Nlri(OfFamily(parts.announced, false)));
}

std::string BgpEndOfRib(Family family) {
  if (family == Family::kIpv4) return BgpMessage(2, U32(0));
  return BgpMessage(2, U16(0) + U16(6) + Attribute(0x80, 15, U16(2) + U8(1)));
}

std::string BgpOpen(const std::vector<Family>& families) {
  std::string capabilities;
  for (const Family family : families)
    capabilities += U8(1) + U8(4) + U16(family == Family::kIpv4 ? 1 : 2) + U8(0) + U8(1);
  const std::string parameters =
      capabilities.empty() ? "" : U8(2) + U8(static_cast<uint8_t>(capabilities.size())) + capabilities;
  return BgpMessage(1, U8(4) + U16(23456) + U16(9) + U32(0x0aff0001) +
                           U8(static_cast<uint8_t>(parameters.size())) + parameters);
}

std::string BmpMessage(uint8_t type, std::string_view body) {
  return U8(3) + U32(static_cast<uint32_t>(6 + body.size())) + U8(type) + std::string(body);
}

std::string BmpPeerHeader(const Peer& peer, int64_t since_ms, uint8_t more_flags, uint8_t type) {
  const auto flags = static_cast<uint8_t>((peer.address.is_v6() ? 0x80 : 0) | more_flags);
  return U8(type) + U8(flags) + Number(peer.distinguisher, 8) + Address16(peer.address) + U32(peer.asn) +
         U32(peer.bgp_id) + U32(static_cast<uint32_t>(since_ms / 1000)) +
         U32(static_cast<uint32_t>(since_ms % 1000 * 1000));
}

std::string BmpPeerUp(const Peer& peer, int64_t since_ms, const std::vector<Family>& families) {
  return BmpMessage(3, BmpPeerHeader(peer, since_ms) + std::string(16, '\0') + U16(179) + U16(40000) +
                           BgpOpen(families) + BgpOpen(families));
}

std::string BmpPeerDown(const Peer& peer, uint8_t reason) {
  return BmpMessage(2, BmpPeerHeader(peer) + U8(reason));
}

std::string BmpRoutes(const Peer& peer, std::string_view update, uint8_t more_flags) {
  return BmpMessage(0, BmpPeerHeader(peer, 0, more_flags) + std::string(update));
}

}  // namespace rail::bmp::testing
