#include "lib/lldp/frame.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "lib/base/address.h"
#include "lib/base/utf8.h"

namespace rail::lldp {
namespace {

constexpr size_t kHeader = 14;  // two addresses, the type
constexpr size_t kMac = 6;
constexpr size_t kMostId = 256;    // of a chassis or a port: its kind and 255 bytes
constexpr size_t kMostText = 255;  // of a name or a description

enum Type : uint8_t { kEnd = 0, kChassis = 1, kPort = 2, kTtl = 3, kPortDescription = 4, kSystemName = 5 };

uint8_t Byte(std::string_view bytes, size_t at) {
  return static_cast<uint8_t>(bytes[at]);
}

// A leaf's words go to terminals and into sentences.
std::string Text(std::string_view bytes) {
  while (!bytes.empty() && bytes.back() == '\0') bytes.remove_suffix(1);
  return WithoutControls(bytes.substr(0, kMostText), '?');
}

std::string Hex(std::string_view bytes, const char* between) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i)
    text += fmt::format("{}{:02x}", i == 0 ? "" : between, Byte(bytes, i));
  return text;
}

// One byte of family, by IANA's numbers, then the address.
std::string Address(std::string_view bytes) {
  const bool v4 = bytes.size() == 5 && Byte(bytes, 0) == 1;
  const bool v6 = bytes.size() == 17 && Byte(bytes, 0) == 2;
  if (v4) {
    return fmt::format("{}.{}.{}.{}", Byte(bytes, 1), Byte(bytes, 2), Byte(bytes, 3), Byte(bytes, 4));
  }
  if (v6) {
    std::string text;
    for (size_t i = 1; i < bytes.size(); i += 2)
      text += fmt::format("{}{:02x}{:02x}", i == 1 ? "" : ":", Byte(bytes, i), Byte(bytes, i + 1));
    if (const auto address = IpAddress::Parse(text)) return address->ToString();
  }
  return Hex(bytes, "");
}

// The kinds of a chassis' and of a port's name have the same meaning but for their numbers.
std::string Id(std::string_view value, uint8_t mac, uint8_t address) {
  const uint8_t kind = Byte(value, 0);
  value.remove_prefix(1);
  if (kind == mac && value.size() == kMac) return Hex(value, ":");
  if (kind == address) return Address(value);
  return Text(value);
}

class Reader {
 public:
  Result<Neighbour> Read(std::string_view rest) {
    for (uint8_t expected = kChassis; !rest.empty();) {
      if (rest.size() < 2) return Fail(Code::kInvalid, "ends within the head of a field");
      const auto head = static_cast<uint16_t>(Byte(rest, 0) << 8 | Byte(rest, 1));
      const auto type = static_cast<uint8_t>(head >> 9);
      const size_t length = head & 0x1ff;
      rest.remove_prefix(2);
      if (length > rest.size()) return Fail(Code::kInvalid, fmt::format("field {} ends after it", type));
      const std::string_view value = rest.substr(0, length);
      rest.remove_prefix(length);
      if (type == kEnd) break;
      // The first three are there in this order, and nowhere else.
      if (expected <= kTtl ? type != expected : type <= kTtl)
        return Fail(Code::kInvalid, fmt::format("has field {} out of order", type));
      expected = expected <= kTtl ? expected + 1 : expected;
      RAIL_TRY(Take(type, value));
    }
    if (!ttl_) return Fail(Code::kInvalid, "lacks chassis, port or time to live");
    neighbour_.ttl = *ttl_;
    return std::move(neighbour_);
  }

 private:
  Status Take(uint8_t type, std::string_view value) {
    if (type == kChassis || type == kPort) {
      if (value.size() < 2 || value.size() > kMostId)
        return Fail(Code::kInvalid, fmt::format("has a field {} of {} bytes", type, value.size()));
      if (type == kChassis) {
        neighbour_.chassis = Id(value, 4, 5);
      } else {
        neighbour_.port = Id(value, 3, 4);
      }
    } else if (type == kTtl) {
      if (value.size() < 2) return Fail(Code::kInvalid, "has a time to live of less than two bytes");
      ttl_ = static_cast<uint16_t>(Byte(value, 0) << 8 | Byte(value, 1));
    } else if (type == kPortDescription) {
      neighbour_.port_description = Text(value);
    } else if (type == kSystemName) {
      neighbour_.system_name = Text(value);
    }
    return {};
  }

  Neighbour neighbour_;
  std::optional<uint16_t> ttl_;
};

}  // namespace

Result<Neighbour> Parse(std::string_view frame) {
  const auto refuse = [](const std::string& why) { return Fail(Code::kInvalid, "a frame of LLDP " + why); };
  if (frame.size() < kHeader || frame.size() > kMostFrame)
    return refuse(fmt::format("of {} bytes", frame.size()));
  if ((Byte(frame, 12) << 8 | Byte(frame, 13)) != kEtherType) return refuse("is of another type");
  auto read = Reader().Read(frame.substr(kHeader));
  if (!read) return refuse(read.error().message);
  return read;
}

}  // namespace rail::lldp
