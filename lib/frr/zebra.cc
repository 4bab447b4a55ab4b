#include "lib/frr/zebra.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "lib/base/socket.h"
#include "lib/base/strict_json.h"
#include "lib/frr/base_removal.h"
#include "lib/frr/running_config.h"
#include "lib/frr/vty.h"

namespace rail::frr {
namespace {

using nlohmann::json;

constexpr JsonLimits kSmall{.max_bytes = size_t{1} << 20, .max_depth = 16};

bool IsTrue(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_boolean() && it->get<bool>();
}

}  // namespace

Result<std::set<std::string>> DecodeOutLinks(std::string_view text) {
  auto document = ParseJson(text.empty() ? std::string_view("{}") : text, kSmall);
  if (!document) return Fail(Code::kInternal, "zebra's routes: " + document.error().message);
  std::set<std::string> links;
  if (!document->is_object()) return links;
  for (const auto& [prefix, routes] : document->items()) {
    if (!routes.is_array()) continue;
    for (const json& route : routes) {
      const auto hops = route.is_object() ? route.find("nexthops") : route.end();
      if (!route.is_object() || !IsTrue(route, "selected") || hops == route.end() || !hops->is_array())
        continue;
      for (const json& hop : *hops) {
        const auto name = hop.is_object() ? hop.find("interfaceName") : hop.end();
        if (hop.is_object() && IsTrue(hop, "fib") && name != hop.end() && name->is_string())
          links.insert(name->get<std::string>());
      }
    }
  }
  return links;
}

Result<std::set<std::string>> OutLinks(const std::string& run_dir, const IpPrefix& prefix,
                                       Deadline deadline) {
  RAIL_ASSIGN(Vty zebra, Vty::Open(run_dir + "/zebra.vty", deadline));
  const auto text = zebra.Show(std::string("show ") + (prefix.address.is_v6() ? "ipv6" : "ip") + " route " +
                                   prefix.ToString() + " json",
                               deadline);
  if (!text && text.error().code == Code::kNotFound) return std::set<std::string>();
  if (!text) return tl::make_unexpected(text.error());
  return DecodeOutLinks(*text);
}

bool DaemonRuns(const std::string& run_dir, const std::string& daemon) {
  return UnixStream::Connect(run_dir + "/" + daemon + ".vty", Clock::now()).has_value();
}

std::string DecodeVersion(std::string_view text) {
  constexpr std::string_view kName = "FRRouting ";
  const size_t at = text.find(kName);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + kName.size());
  return std::string(text.substr(0, std::min(text.size(), text.find_first_not_of("0123456789."))));
}

Result<std::string> ZebraVersion(const std::string& run_dir, Deadline deadline) {
  RAIL_ASSIGN(Vty zebra, Vty::Open(run_dir + "/zebra.vty", deadline));
  RAIL_ASSIGN(const std::string text, zebra.Show("show version", deadline));
  return DecodeVersion(text);
}

Result<std::vector<std::string>> RemoveOursFromZebra(const std::string& run_dir, Deadline deadline) {
  std::vector<std::string> lines;
  if (!DaemonRuns(run_dir, "zebra")) return lines;
  RAIL_ASSIGN(Vty zebra, Vty::Open(run_dir + "/zebra.vty", deadline));
  RAIL_ASSIGN(const std::string text, zebra.Show("show running-config", deadline));
  lines = PlanListRemoval(ParseRunningConfig(text));
  std::vector<ConfigLine> config;
  for (const std::string& line : lines) config.push_back({line, OnMissing::kAccept});
  RAIL_TRY(zebra.ConfigureAtOnce(config, deadline));
  return lines;
}

}  // namespace rail::frr
