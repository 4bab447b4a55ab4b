#include "lib/base/pci_address.h"

#include <fmt/format.h>

#include <charconv>

namespace rail {

std::optional<PciAddress> PciAddress::Parse(std::string_view text) {
  uint32_t numbers[4] = {};
  constexpr std::string_view kEnds = "::.";
  const char* at = text.data();
  const char* const end = at + text.size();
  for (size_t i = 0; i < 4; ++i) {
    const auto [rest, error] = std::from_chars(at, end, numbers[i], 16);
    if (error != std::errc()) return std::nullopt;
    if (i == kEnds.size() ? rest != end : rest == end || *rest != kEnds[i]) return std::nullopt;
    at = rest + 1;
  }
  if (numbers[1] > 0xff || numbers[2] > 0x1f || numbers[3] > 7) return std::nullopt;
  const PciAddress address{numbers[0], static_cast<uint8_t>(numbers[1]), static_cast<uint8_t>(numbers[2]),
                           static_cast<uint8_t>(numbers[3])};
  // One text for one address: it is a key of the record and of the runtime.
  return address.ToString() == text ? std::optional(address) : std::nullopt;
}

std::string PciAddress::ToString() const {
  return fmt::format("{:04x}:{:02x}:{:02x}.{}", domain, bus, device, function);
}

std::optional<PciAddress> PciAddress::ParseLabel(std::string_view text) {
  std::string address(text);
  for (const char end : {'.', ':', ':'}) {
    const size_t at = address.rfind('-');
    if (at == std::string::npos) return std::nullopt;
    address[at] = end;
  }
  return Parse(address);
}

std::string PciAddress::ToLabel() const {
  return fmt::format("{:04x}-{:02x}-{:02x}-{}", domain, bus, device, function);
}

}  // namespace rail
