// A PCI address, by which sysfs and device plugins name a device.
//
// Use:      if (const auto address = PciAddress::Parse("0000:3b:00.2")) ... address->function;   // 2
// Threads:  values
// Source:   Linux drivers/pci/probe.c, pci_setup_device: "%04x:%02x:%02x.%d". A domain has more than four digits where a bridge counts
//           domains of its own (drivers/pci/controller/vmd.c: from 10000 on)
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rail {

struct PciAddress {
  uint32_t domain = 0;
  uint8_t bus = 0;
  uint8_t device = 0;    // 0..31
  uint8_t function = 0;  // 0..7

  // As the kernel writes it, in lower case: 0000:3b:00.2, 10002:01:00.0. Nothing: `text` is no such address.
  static std::optional<PciAddress> Parse(std::string_view text);
  std::string ToString() const;
  // As a DNS label, with '-' for each ':' and '.': 0000-3b-00-2. Devices of ResourceSlices have such names.
  static std::optional<PciAddress> ParseLabel(std::string_view text);
  std::string ToLabel() const;
  auto operator<=>(const PciAddress&) const = default;
};

inline bool IsPciAddress(std::string_view text) {
  return PciAddress::Parse(text).has_value();
}

}  // namespace rail
