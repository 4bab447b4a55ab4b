#include "lib/config/values.h"

#include <algorithm>

#include "lib/base/address.h"
#include "lib/base/link_name.h"
#include "lib/base/parse.h"

namespace rail::config {
namespace {

constexpr size_t kMaxLabel = 63;
constexpr size_t kMaxDomain = 253;
constexpr size_t kMaxLinkName = 15;  // IFNAMSIZ - 1
constexpr uint64_t kMostMbit = 10'000'000;

bool IsLowerOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool IsAlnum(char c) {
  return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z');
}

// 1..max characters that `is_outer` or are in `inside`, with one that `is_outer` at either end.
bool IsName(std::string_view text, size_t max, bool (*is_outer)(char), std::string_view inside) {
  const auto fits = [&](char c) { return is_outer(c) || inside.find(c) != std::string_view::npos; };
  return !text.empty() && text.size() <= max && is_outer(text.front()) && is_outer(text.back()) &&
         std::ranges::all_of(text, fits);
}

// Of "HOST:PORT". "": it is none.
std::string_view HostOf(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {};
  return ParseNumber(text.substr(colon + 1), UINT16_MAX).value_or(0) == 0 ? "" : text.substr(0, colon);
}

// An IPv4 address, or an IPv6 address in brackets.
bool IsHostAddress(std::string_view host) {
  const bool v6 = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const auto address = IpAddress::Parse(v6 ? host.substr(1, host.size() - 2) : host);
  return address && address->is_v6() == v6;
}

}  // namespace

bool IsLabel(std::string_view text) {
  return IsName(text, kMaxLabel, IsLowerOrDigit, "-");
}

bool IsDomain(std::string_view text) {
  const size_t dot = std::min(text.find('.'), text.size());
  return text.size() <= kMaxDomain && IsName(text.substr(0, dot), kMaxDomain, IsLowerOrDigit, "-") &&
         (dot == text.size() || IsDomain(text.substr(dot + 1)));
}

bool IsLinkName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxLinkName && text != "." && text != ".." &&
         !StandsForLinks(text) &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~' && c != '/' && c != ':'; });
}

bool IsBgpLink(std::string_view text) {
  const auto fits = [](char c) { return IsAlnum(c) || c == '.' || c == '_' || c == '-'; };
  return !text.empty() && text.size() <= kMaxLinkName && IsAlnum(text.front()) &&
         std::ranges::all_of(text, fits);
}

bool IsPath(std::string_view text, size_t max) {
  return text.size() > 1 && text.size() <= max && text.front() == '/' &&
         text.find('\0') == std::string_view::npos;
}

bool IsListenAddress(std::string_view text) {
  return IsHostAddress(HostOf(text));
}

bool IsApiServer(std::string_view url) {
  if (url.starts_with("http://")) {
    const std::string_view host = HostOf(url.substr(7));
    return host == "127.0.0.1" || host == "[::1]";
  }
  const std::string_view host = url.starts_with("https://") ? HostOf(url.substr(8)) : "";
  return IsDomain(host) || IsHostAddress(host);
}

bool IsLabelValue(std::string_view text) {
  return IsName(text, kMaxLabel, IsAlnum, "-_.");
}

bool IsLabelKey(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return IsLabelValue(text);
  return IsDomain(text.substr(0, slash)) && IsLabelValue(text.substr(slash + 1));
}

std::optional<uint64_t> ParseNumber(std::string_view text, uint64_t most) {
  const auto number = Number<uint64_t>(text);
  return number && *number <= most ? number : std::nullopt;
}

std::optional<uint64_t> ParseMbit(std::string_view text) {
  const uint64_t factor = text.ends_with("gbit") ? 1000 : text.ends_with("mbit") ? 1 : 0;
  if (factor == 0) return std::nullopt;
  const uint64_t value = ParseNumber(text.substr(0, text.size() - 4), kMostMbit / factor).value_or(0);
  return value == 0 ? std::nullopt : std::optional(value * factor);
}

}  // namespace rail::config
