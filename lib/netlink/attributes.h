// The attributes of a netlink message, by type. The decoders of this folder use it.
//
// Use:      Attributes<IFLA_MAX> attributes;
//           const auto* body = Parse<ifinfomsg>(message, RTM_NEWLINK, attributes);   // nullptr: not such a message
//           uint32_t mtu = attributes.Uint32Or(IFLA_MTU, 0);
// Threads:  values; they point into the message
// Source:   netlink(7), libnl's attr.h
#pragma once

#include <netlink/attr.h>
#include <netlink/msg.h>

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/address.h"

namespace rail::netlink {

// Attributes by type, each at least as long as its header says.
template <int kMax>
class Attributes {
 public:
  std::optional<uint8_t> Uint8(int type) const { return Integer<uint8_t>(raw(type)); }
  std::optional<uint16_t> Uint16(int type) const { return Integer<uint16_t>(raw(type)); }
  std::optional<uint32_t> Uint32(int type) const { return Integer<uint32_t>(raw(type)); }
  std::optional<uint64_t> Uint64(int type) const { return Integer<uint64_t>(raw(type)); }
  uint32_t Uint32Or(int type, uint32_t fallback) const { return Uint32(type).value_or(fallback); }

  std::string String(int type) const {
    const std::string_view bytes = Bytes(type);
    return std::string(bytes.substr(0, bytes.find('\0')));
  }

  MacAddress Mac(int type) const {
    MacAddress mac;
    const std::string_view bytes = Bytes(type);
    if (bytes.size() == mac.bytes.size()) std::memcpy(mac.bytes.data(), bytes.data(), bytes.size());
    return mac;
  }

  std::optional<IpAddress> Ip(int type) const {
    if (!Has(type)) return std::nullopt;
    auto address = IpAddress::FromBytes(Bytes(type));
    return address ? std::optional(*address) : std::nullopt;
  }

  bool Has(int type) const { return raw(type) != nullptr; }

  std::string_view Bytes(int type) const {
    const nlattr* attribute = raw(type);
    if (attribute == nullptr) return {};
    return {static_cast<const char*>(nla_data(attribute)), static_cast<size_t>(nla_len(attribute))};
  }

  // The bytes of attribute `type`, as a struct of the kernel's; nothing if it is absent or has fewer than `least`. Newer kernels
  // append members, older ones lack the last.
  template <class T>
  std::optional<T> Struct(int type, size_t least = sizeof(T)) const {
    const std::string_view bytes = Bytes(type);
    if (bytes.size() < least) return std::nullopt;
    T value{};
    bytes.copy(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }

  // The attributes inside attribute `type`; none when it is missing or malformed.
  template <int kInnerMax>
  Attributes<kInnerMax> Nested(int type) const {
    Attributes<kInnerMax> inner;
    if (Has(type) && nla_parse_nested(inner.table(), kInnerMax, raw(type), nullptr) < 0) return {};
    return inner;
  }

  nlattr* raw(int type) const {
    return type >= 0 && type <= kMax ? table_[static_cast<size_t>(type)] : nullptr;
  }
  nlattr** table() { return table_.data(); }

 private:
  template <class T>
  static std::optional<T> Integer(const nlattr* attribute) {
    if (attribute == nullptr || nla_len(attribute) < static_cast<int>(sizeof(T))) return std::nullopt;
    T value;
    std::memcpy(&value, nla_data(attribute), sizeof value);
    return value;
  }

  // All instances have the same size: GCC 12 merges them at -O3 and then warns that it reads past the end of the smaller ones.
  static constexpr int kRoom = 256;
  static_assert(kMax < kRoom);
  std::array<nlattr*, kRoom> table_{};
};

// The header of `message`; nullptr when the message is shorter than its header says.
inline nlmsghdr* Header(std::string_view message) {
  if (message.size() < sizeof(nlmsghdr)) return nullptr;
  // libnl takes non-const pointers, but does not change the message.
  auto* header = reinterpret_cast<nlmsghdr*>(const_cast<char*>(message.data()));
  return header->nlmsg_len >= sizeof(nlmsghdr) && header->nlmsg_len <= message.size() ? header : nullptr;
}

// The family's header of a message of `type`, and its attributes. nullptr when it is not such a message.
template <class Body, int kMax>
const Body* Parse(std::string_view message, int type, Attributes<kMax>& attributes) {
  nlmsghdr* header = Header(message);
  if (header == nullptr || header->nlmsg_type != type ||
      header->nlmsg_len < NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(Body))) {
    return nullptr;
  }
  if (nlmsg_parse(header, sizeof(Body), attributes.table(), kMax, nullptr) < 0) return nullptr;
  return static_cast<const Body*>(nlmsg_data(header));
}

// The attributes of a message of `type` without a family's header. False when it is not such a message.
template <int kMax>
bool ParseBare(std::string_view message, int type, Attributes<kMax>& attributes) {
  nlmsghdr* header = Header(message);
  return header != nullptr && header->nlmsg_type == type &&
         nlmsg_parse(header, 0, attributes.table(), kMax, nullptr) >= 0;
}

}  // namespace rail::netlink
