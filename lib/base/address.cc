#include "lib/base/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "lib/base/parse.h"

namespace rail {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Result<MacAddress> MacAddress::Parse(std::string_view text) {
  const auto bad = [&] {
    return Fail(Code::kInvalid,
                "'" + std::string(text.substr(0, 64)) + "' is not a MAC address (aa:bb:cc:dd:ee:ff)");
  };
  if (text.size() != 17) return bad();
  MacAddress mac;
  for (size_t i = 0; i < 6; ++i) {
    const int high = HexDigit(text[3 * i]);
    const int low = HexDigit(text[3 * i + 1]);
    if (high < 0 || low < 0 || (i < 5 && text[3 * i + 2] != ':')) return bad();
    mac.bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return mac;
}

std::string MacAddress::ToString() const {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  text.reserve(17);
  for (const uint8_t byte : bytes) {
    if (!text.empty()) text += ':';
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

Result<IpAddress> IpAddress::Parse(std::string_view text) {
  IpAddress address;
  const std::string copy(text.substr(0, INET6_ADDRSTRLEN));
  const bool ends_early = copy.find('\0') != std::string::npos || copy.size() != text.size();
  if (!ends_early && ::inet_pton(AF_INET, copy.c_str(), address.bytes_.data()) == 1) return address;
  if (!ends_early && ::inet_pton(AF_INET6, copy.c_str(), address.bytes_.data()) == 1) {
    static constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (std::memcmp(address.bytes_.data(), kMapped, sizeof kMapped) != 0) {
      address.v6_ = true;
      return address;
    }
  }
  return Fail(Code::kInvalid, "'" + copy + "' is not an IPv4 or IPv6 address");
}

Result<IpAddress> IpAddress::FromBytes(std::string_view bytes) {
  if (bytes.size() != 4 && bytes.size() != 16) {
    return Fail(Code::kInvalid, "an IP address has 4 or 16 bytes, not " + std::to_string(bytes.size()));
  }
  IpAddress address;
  address.v6_ = bytes.size() == 16;
  std::memcpy(address.bytes_.data(), bytes.data(), bytes.size());
  return address;
}

bool IpAddress::is_unspecified() const {
  return std::ranges::all_of(bytes_, [](uint8_t b) { return b == 0; });
}
bool IpAddress::is_multicast() const {
  return v6_ ? bytes_[0] == 0xff : (bytes_[0] & 0xf0) == 0xe0;
}
bool IpAddress::is_loopback() const {
  return v6_ ? bytes_[15] == 1 &&
                   std::all_of(bytes_.begin(), bytes_.end() - 1, [](uint8_t b) { return b == 0; })
             : bytes_[0] == 127;
}
bool IpAddress::is_link_local() const {
  return v6_ ? bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0x80 : bytes_[0] == 169 && bytes_[1] == 254;
}
bool IpAddress::is_broadcast() const {
  return !v6_ && std::all_of(bytes_.begin(), bytes_.begin() + 4, [](uint8_t b) { return b == 0xff; });
}

bool IpAddress::is_routed_unicast() const {
  return !is_unspecified() && !is_multicast() && !is_loopback() && !is_link_local() && !is_broadcast();
}

std::string IpAddress::ToString() const {
  char text[INET6_ADDRSTRLEN];
  ::inet_ntop(v6_ ? AF_INET6 : AF_INET, bytes_.data(), text, sizeof text);
  return text;
}

Result<IpPrefix> IpPrefix::Parse(std::string_view text) {
  const auto bad = [&](const std::string& why) {
    return Fail(Code::kInvalid,
                "'" + std::string(text.substr(0, 64)) + "' is not an address with a prefix length: " + why);
  };
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return bad("no '/'");
  auto address = IpAddress::Parse(text.substr(0, slash));
  if (!address) return bad(address.error().message);
  const std::string_view digits = text.substr(slash + 1);
  const auto length = Number<unsigned>(digits);
  const bool canonical = digits.size() == 1 || !digits.starts_with('0');
  if (!length || !canonical || *length > address->bits())
    return bad("the length is a number from 0 to " + std::to_string(address->bits()));
  return IpPrefix{*address, static_cast<uint8_t>(*length)};
}

namespace {
bool Bit(std::string_view bytes, size_t at) {
  return (static_cast<uint8_t>(bytes[at / 8]) >> (7 - at % 8) & 1) != 0;
}
}  // namespace

bool IpPrefix::Contains(const IpAddress& other) const {
  if (other.is_v6() != address.is_v6()) return false;
  for (size_t at = 0; at < length; ++at) {
    if (Bit(address.bytes(), at) != Bit(other.bytes(), at)) return false;
  }
  return true;
}

bool IpPrefix::HasNoHostBits() const {
  for (size_t at = length; at < address.bits(); ++at) {
    if (Bit(address.bytes(), at)) return false;
  }
  return true;
}

}  // namespace rail
