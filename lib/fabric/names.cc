#include "lib/fabric/names.h"

#include <charconv>

namespace rail::fabric {
namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// The run of digits at the beginning of `text`, cut off from it; without leading zeros.
std::string_view TakeNumber(std::string_view& text) {
  size_t end = 0;
  while (end < text.size() && IsDigit(text[end])) ++end;
  std::string_view number = text.substr(0, end);
  text.remove_prefix(end);
  while (number.starts_with('0')) number.remove_prefix(1);
  return number;
}

// <0, 0, >0
int Compare(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (IsDigit(a.front()) && IsDigit(b.front())) {
      const std::string_view one = TakeNumber(a);
      const std::string_view other = TakeNumber(b);
      if (one.size() != other.size()) return one.size() < other.size() ? -1 : 1;
      if (const int order = one.compare(other); order != 0) return order;
      continue;
    }
    if (a.front() != b.front())
      return static_cast<unsigned char>(a.front()) < static_cast<unsigned char>(b.front()) ? -1 : 1;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.empty() ? (b.empty() ? 0 : -1) : 1;
}

}  // namespace

bool IsBefore(std::string_view a, std::string_view b) {
  const int order = Compare(a, b);
  return order != 0 ? order < 0 : a < b;
}

std::optional<uint32_t> LastNumber(std::string_view name) {
  while (!name.empty() && !IsDigit(name.back())) name.remove_suffix(1);
  size_t begin = name.size();
  while (begin > 0 && IsDigit(name[begin - 1])) --begin;
  const std::string_view digits = name.substr(begin);
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

}  // namespace rail::fabric
