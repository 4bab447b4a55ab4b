// Reads big-endian numbers and pieces from the front of a message, never beyond its end.
//
// Use:      Bytes bytes(message);  const uint16_t length = bytes.U16();  Bytes body = bytes.Take(length);
//           if (!bytes.ok()) ...                      // check once, at the end: bytes beyond the end read as 0
// Threads:  values
// Owns:     nothing; the message must live as long as its Bytes
// Source:   RFC 4271 section 4 (numbers are in network order)
#pragma once

#include <cstdint>
#include <string_view>

namespace rail::bmp {

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}

  uint8_t U8() { return static_cast<uint8_t>(Number(1)); }
  uint16_t U16() { return static_cast<uint16_t>(Number(2)); }
  uint32_t U32() { return static_cast<uint32_t>(Number(4)); }
  uint64_t U64() { return Number(8); }

  // The next `size` bytes. If fewer are left, returns none of them, and ok() is false from then on.
  std::string_view Raw(size_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  Bytes Take(size_t size) { return Bytes(Raw(size)); }

  bool ok() const { return ok_; }
  bool empty() const { return rest_.empty(); }
  size_t left() const { return rest_.size(); }

 private:
  uint64_t Number(size_t size) {
    uint64_t number = 0;
    for (const char byte : Raw(size)) number = number << 8 | static_cast<uint8_t>(byte);
    return number;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace rail::bmp
