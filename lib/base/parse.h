// Takes apart text that other programs print.
//
// Use:      for (std::string_view line : Split(text, "\n")) ...;  auto n = Number<uint64_t>("12");
// Threads:  pure functions; the results point into the arguments
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace rail {

// Splits an empty text into one empty piece.
std::vector<std::string_view> Split(std::string_view text, std::string_view separator);

// What stands between spaces: "a  b " has two words.
std::vector<std::string_view> Words(std::string_view line);

// The number that is all of `text`, or nothing.
template <class T>
std::optional<T> Number(std::string_view text, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace rail
