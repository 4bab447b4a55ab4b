// Texts made of several.
//
// Use:      Join(config.rails, ", ", &config::Rail::name)           // "rail0, rail1"
//           Append(text, "; ", problem)                             // "a; b"; nothing before the first
// Threads:  pure functions
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace rail {

// Adds `more`, and `between` before it unless `text` is empty.
inline void Append(std::string& text, std::string_view between, std::string_view more) {
  if (!text.empty()) text += between;
  text += more;
}

// The text of each of `items`, with `between` between them. `text_of`: of one item; the item itself where nothing is said.
template <class Items, class TextOf = std::identity>
std::string Join(const Items& items, std::string_view between, TextOf text_of = {}) {
  std::string text;
  for (const auto& item : items) Append(text, between, std::invoke(text_of, item));
  return text;
}

}  // namespace rail
