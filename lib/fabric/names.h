// The order of names as people count: n2 is before n10.
//
// Use:      std::map<std::string, Node, NaturalLess> nodes;     LastNumber("train-worker-12")   // 12
// Threads:  pure functions
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rail::fabric {

// Numbers by value, all else by byte; names that differ in leading zeros alone by byte.
bool IsBefore(std::string_view a, std::string_view b);

struct NaturalLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return IsBefore(a, b); }
};

// The last run of digits. Nothing: there is none, or it is no number below 2^32.
std::optional<uint32_t> LastNumber(std::string_view name);

}  // namespace rail::fabric
