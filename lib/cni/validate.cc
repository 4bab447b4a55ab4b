#include "lib/cni/validate.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "lib/base/link_name.h"

namespace rail::cni {
namespace {

bool IsAlphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool IsIdentifier(const std::string& text) {
  return !text.empty() && IsAlphanumeric(text[0]) && std::ranges::all_of(text, [](char c) {
    return IsAlphanumeric(c) || c == '_' || c == '.' || c == '-';
  });
}

// UTF-8 of the white space outside ASCII: U+0085, A0, 1680, 2000..200A, 2028, 2029, 202F, 205F, 3000.
constexpr std::array<std::string_view, 19> kWideSpaces = {
    "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81",
    "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86",
    "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8",
    "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};

bool HasSpaceOrSeparator(const std::string& name) {
  return name.find_first_of("/: \t\n\v\f\r") != std::string::npos ||
         std::ranges::any_of(kWideSpaces,
                             [&](std::string_view space) { return name.find(space) != std::string::npos; });
}

bool HasControl(const std::string& name) {
  return std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace

Outcome<void> ValidateContainerId(const std::string& id) {
  if (!IsIdentifier(id)) return CniFail(4, "invalid characters in containerID", id);
  return {};
}

Outcome<void> ValidateNetworkName(const std::string& name) {
  if (name.empty()) return CniFail(7, "missing network name");
  if (!IsIdentifier(name)) return CniFail(7, "invalid characters found in network name", name);
  return {};
}

Outcome<void> ValidateInterfaceName(const std::string& name) {
  if (name.empty()) return CniFail(4, "interface name is empty");
  if (name.size() > 15)
    return CniFail(4, "interface name is too long", "interface name should be less than 16 characters");
  if (name == "." || name == "..") return CniFail(4, "interface name is . or ..");
  if (HasSpaceOrSeparator(name)) return CniFail(4, "interface name contains / or : or whitespace characters");
  if (StandsForLinks(name))
    return CniFail(4, "interface name is a pattern or stands for all interfaces",
                   "it must have no '%', and must be neither \"all\" nor \"default\"");
  if (HasControl(name)) return CniFail(4, "interface name contains control characters");
  return {};
}

}  // namespace rail::cni
