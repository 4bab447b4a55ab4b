// Takes apart text that Open vSwitch prints (lib/base/parse.h: any text).
//
// Use:      for (std::string_view field : SplitOutside("eth(src=a,dst=b),recirc(0)")) ...
// Threads:  pure functions; the results point into the arguments
#pragma once

#include <string_view>
#include <vector>

namespace rail::inspect {

std::string_view Trim(std::string_view text);

// Splits at commas outside of parentheses: "eth(src=a,dst=b),recirc(0)" has two pieces.
std::vector<std::string_view> SplitOutside(std::string_view text);

}  // namespace rail::inspect
