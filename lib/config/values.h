// What texts of node.json can be.
//
// Use:      constexpr Rule kRunDir = Text([](std::string_view text) { return IsPath(text, 86); }, "an absolute path");
// Threads:  pure functions
// Source:   RFC 1123 (labels); Linux net/core/dev.c, dev_valid_name (links); Kubernetes, "Labels and Selectors", syntax
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rail::config {

// Of a cluster, tenant or namespace.
inline constexpr std::string_view kLabelRule = "1 to 63 of a-z, 0-9 and '-', with no '-' at either end";
bool IsLabel(std::string_view text);
bool IsDomain(std::string_view text);    // a DNS subdomain: such labels with dots between them
bool IsLinkName(std::string_view text);  // that the kernel accepts, of printable ASCII only
bool IsBgpLink(std::string_view text);   // a link's name that is also a word of bgpd's configuration
bool IsPath(std::string_view text, size_t max);
bool IsListenAddress(std::string_view text);  // 10.0.0.5:9443, [::]:9443
// http:// only on the loopback: a token goes along, and what comes back decides who reaches whom.
bool IsApiServer(std::string_view url);
bool IsLabelValue(std::string_view text);  // of a Kubernetes label
bool IsLabelKey(std::string_view text);    // name, or domain/name

template <bool (*kAccepts)(std::string_view)>
bool OrNone(std::string_view text) {
  return text.empty() || kAccepts(text);
}

// A whole number in decimal digits alone, 0..most.
std::optional<uint64_t> ParseNumber(std::string_view text, uint64_t most);
// "200gbit", "500mbit" as Mbit/s; nullopt: no such text, 0, or more than 10 Tbit/s.
std::optional<uint64_t> ParseMbit(std::string_view text);

}  // namespace rail::config
