// MAC and IP addresses as values: parsed once, compared and printed the one canonical way.
//
// Use:      RAIL_ASSIGN(IpAddress a, IpAddress::Parse("10.0.3.7"));  a.ToString();  a.is_v6();
// Threads:  values
// Source:   RFC 5952 (IPv6 text), IEEE 802 (MAC bits)
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/error.h"

namespace rail {

struct MacAddress {
  std::array<uint8_t, 6> bytes{};

  // "02:00:5e:10:00:01", two hexadecimal digits each, either case. Errors: kInvalid.
  static Result<MacAddress> Parse(std::string_view text);
  std::string ToString() const;  // lower case
  bool is_zero() const { return bytes == std::array<uint8_t, 6>{}; }
  bool is_multicast() const { return (bytes[0] & 1) != 0; }
  auto operator<=>(const MacAddress&) const = default;
};

class IpAddress {
 public:
  IpAddress() = default;  // 0.0.0.0

  // IPv4 dotted quad or IPv6 (no zone, no prefix length). An IPv4-mapped IPv6 address is refused: it would be a second
  // name for an IPv4 address. Errors: kInvalid.
  static Result<IpAddress> Parse(std::string_view text);
  // `bytes`: 4 or 16, network order.
  static Result<IpAddress> FromBytes(std::string_view bytes);

  bool is_v6() const { return v6_; }
  uint8_t bits() const { return v6_ ? 128 : 32; }
  // 4 or 16 bytes, network order.
  std::string_view bytes() const { return {reinterpret_cast<const char*>(bytes_.data()), v6_ ? 16U : 4U}; }
  bool is_unspecified() const;
  bool is_multicast() const;
  bool is_loopback() const;
  bool is_link_local() const;      // 169.254.0.0/16, fe80::/10
  bool is_broadcast() const;       // 255.255.255.255
  bool is_routed_unicast() const;  // none of the above: what a pod can have, and what a host can route
  std::string ToString() const;
  // "10.0.3.7/32", "2001:db8::7/128"
  std::string ToHostPrefix() const { return ToString() + (v6_ ? "/128" : "/32"); }
  auto operator<=>(const IpAddress&) const = default;

 private:
  bool v6_ = false;
  std::array<uint8_t, 16> bytes_{};
};

// An address and a prefix length; the host bits are kept as given ("10.0.3.7/24" is an interface's address).
struct IpPrefix {
  IpAddress address;
  uint8_t length = 0;

  // "10.0.3.0/24". Errors: kInvalid (no length, too long, not an address).
  static Result<IpPrefix> Parse(std::string_view text);
  std::string ToString() const { return address.ToString() + "/" + std::to_string(length); }
  bool is_host() const { return length == address.bits(); }
  // Whether the first `length` bits of the two are the same; false for two families.
  bool Contains(const IpAddress& other) const;
  bool HasNoHostBits() const;  // "10.0.3.0/24", not "10.0.3.7/24"
  auto operator<=>(const IpPrefix&) const = default;
};

}  // namespace rail
