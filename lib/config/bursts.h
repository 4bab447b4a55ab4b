// The section "bursts" of node.json: how often raild reads the byte counters of uplinks and attachments.
//
// Use:      if (node.bursts.every_ms != 0) ...
// Threads:  values
// Source:   README.md of this folder
#pragma once

#include <cstdint>

namespace rail::config {

struct Bursts {
  uint32_t every_ms = 0;  // 5..1000; 0: off, counters are read once a second
  uint32_t line_rate_mbit =
      0;  // Mbit/s, what counts as the line rate of every rail; 0: what the uplink's driver says
};

}  // namespace rail::config
