// Which rail and which plane of it an uplink is: rails[].rail, rails[].plane and rails[].nic_planes of node.json.
//
// Use:      const uint32_t number = rail.place.rail.value_or(rail.index);   // Rail::number()
// Threads:  values
// Source:   README.md of this folder (planes)
#pragma once

#include <cstdint>
#include <optional>

namespace rail::config {

struct Place {
  std::optional<uint32_t> rail;  // 0..99; nothing: its index
  uint32_t plane = 0;            // 0..12: NCCL knows 13
  uint32_t nic_planes = 1;       // 1, 2, 4: planes that the NIC makes inside itself of this one uplink
  bool operator==(const Place&) const = default;
};

}  // namespace rail::config
