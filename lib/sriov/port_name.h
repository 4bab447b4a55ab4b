// Parses a switch port's name in sysfs (phys_port_name).
//
// Use:      if (auto vf = ParseVfPortName("pf0vf3")) ...     // {controller 0, pf 0, vf 3}
//           IsUplinkPortName("p0");
// Threads:  pure functions
// Source:   kernel net/devlink/port.c, __devlink_port_phys_port_name_get
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rail::sriov {

struct VfPort {
  uint32_t controller = 0;  // 1 in "c1pf0vf3": of another host, seen on a DPU
  uint32_t pf = 0;
  uint32_t vf = 0;
  bool operator==(const VfPort&) const = default;
};

std::optional<VfPort> ParseVfPortName(std::string_view name);
// The port's number in "p0", "p0s1", "l2p0" (with a line card).
std::optional<uint32_t> ParseUplinkPortName(std::string_view name);
// Whether the port represents a function: "pf0", "pf0vf3", "pf0sf88", each also with "c1" in front.
bool IsFunctionPortName(std::string_view name);

}  // namespace rail::sriov
