// Pieces of text that other programs print.
//
// Use:      for (std::string_view line : Split(text, "\n")) ...;  auto n = Number<uint64_t>("12");
// Threads:  pure functions; what is returned points into what was given
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace rail::inspect {

std::string_view Trim(std::string_view text);

// An empty text is one empty piece.
std::vector<std::string_view> Split(std::string_view text, std::string_view separator);

// The same at commas outside of parentheses: "eth(src=a,dst=b),recirc(0)" is two pieces.
std::vector<std::string_view> SplitOutside(std::string_view text);

// The whole of `text`, or nothing.
template <class T>
std::optional<T> Number(std::string_view text, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace rail::inspect
