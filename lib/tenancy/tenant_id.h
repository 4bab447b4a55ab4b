// The id of a tenant, which Open vSwitch compares, BGP carries and the record keeps.
//
// Threads:  values
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/error.h"

namespace rail::tenancy {

// 112 bits in two halves, each below 2^56. All zero: no tenant; no rule ever matches it.
struct TenantId {
  uint64_t high = 0;
  uint64_t low = 0;

  constexpr bool is_none() const { return high == 0 && low == 0; }
  std::string ToString() const;  // 28 hexadecimal digits
  // The same text, lower case. Errors: kInvalid.
  static Result<TenantId> Parse(std::string_view text);
  auto operator<=>(const TenantId&) const = default;
};

}  // namespace rail::tenancy
