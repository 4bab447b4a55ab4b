#include "lib/sriov/port_name.h"

#include <charconv>

namespace rail::sriov {
namespace {

// Removes `word` and the number after it from the front of `text` and returns the number. Nothing: `text` begins otherwise.
std::optional<uint32_t> Take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  const std::string_view rest = text.substr(word.size());
  uint32_t number = 0;
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc()) return std::nullopt;
  text = rest.substr(static_cast<size_t>(stop - rest.data()));
  return number;
}

}  // namespace

std::optional<VfPort> ParseVfPortName(std::string_view name) {
  VfPort port;
  port.controller = Take(name, "c").value_or(0);
  const auto pf = Take(name, "pf");
  const auto vf = pf ? Take(name, "vf") : std::nullopt;
  if (!vf || !name.empty()) return std::nullopt;
  port.pf = *pf;
  port.vf = *vf;
  return port;
}

std::optional<uint32_t> ParseUplinkPortName(std::string_view name) {
  (void)Take(name, "l");
  const auto port = Take(name, "p");
  if (port) (void)Take(name, "s");
  return name.empty() ? port : std::nullopt;
}

bool IsFunctionPortName(std::string_view name) {
  (void)Take(name, "c");
  return Take(name, "pf").has_value();
}

}  // namespace rail::sriov
