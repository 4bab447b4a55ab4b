// The screen of `railctl top`, made of one answer: bars, sorted, within a terminal's size.
//
// Use:      for (const std::string& line : Draw(counters, view, {.width = 100, .height = 30})) ...
// Threads:  pure functions
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rail/v1/counters.pb.h"

namespace rail::railctl {

// What the keys of top change.
struct TopView {
  enum class Sort { kRate, kPeak, kPauses, kName } sort = Sort::kRate;
  enum class Show { kAll, kUplinks, kPods } show = Show::kAll;
  std::string rail;  // "": all
};

struct TopSize {
  size_t width = 100;
  size_t height = 24;
  bool color = false;
};

// What `key` makes of `view`; false: it ends top. `rails`: those that exist, in their order.
bool Press(char key, const std::vector<std::string>& rails, TopView& view);

// Whether top may begin by this answer: rates are known from the second reading of a port on. An answer without any port is whole, too.
bool IsWorthAScreen(const v1::ListCountersResponse& counters);

// At most `height` lines of at most `width` characters.
std::vector<std::string> Draw(const v1::ListCountersResponse& counters, const TopView& view,
                              const TopSize& size);

// The rails of the answer, in its order.
std::vector<std::string> RailsOf(const v1::ListCountersResponse& counters);

}  // namespace rail::railctl
