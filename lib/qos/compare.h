// How an uplink differs from what node.json wants it to be for RoCE (config/lossless.h).
//
// Use:      for (const Difference& each : Compare(*rail.lossless, rail.pf, seen)) ...
// Threads:  pure functions
// Source:   README.md of this folder
#pragma once

#include <string>
#include <vector>

#include "lib/config/lossless.h"
#include "lib/qos/look.h"

namespace rail::qos {

// One finding of the doctor.
struct Difference {
  std::string id;    // "lossless-pfc"
  std::string what;  // sentences, without a full stop
  std::string why;
  std::string fix;
  bool operator==(const Difference&) const = default;
};

// Empty: all that is wanted was read, and is so.
std::vector<Difference> Compare(const config::Lossless& wanted, const std::string& uplink, const Seen& seen);

// "3", "3 and 4", "none"
std::string Priorities(uint8_t mask);
uint8_t MaskOf(const std::set<uint8_t>& priorities);

}  // namespace rail::qos
