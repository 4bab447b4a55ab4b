#include "cmd/railfabric/settings.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/base/strict_json.h"
#include "lib/base/whole_file.h"
#include "lib/config/values.h"

namespace rail::railfabric {
namespace {

using nlohmann::json;

constexpr std::string_view kUnix = "unix:";
constexpr size_t kLongestSocket = 86;                // SocketFile binds in a folder of its own beside it
constexpr size_t kLongestPath = 107;                 // unix(7)
constexpr JsonLimits kLimits{.max_bytes = 8 << 20};  // 50,000 nodes

bool IsSocket(std::string_view text, size_t longest) {
  return text.starts_with(kUnix) && config::IsPath(text.substr(kUnix.size()), longest);
}

// A name or an address, and a port.
bool IsHostAndPort(std::string_view text) {
  if (config::IsListenAddress(text)) return true;
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  const auto port = config::ParseNumber(text.substr(colon + 1), UINT16_MAX);
  return config::IsDomain(text.substr(0, colon)) && port && *port > 0;
}

void ReadListen(JsonObject& whole, Settings& settings, JsonErrors& errors) {
  const std::vector<std::string> ways = whole.StringsOr("listen");
  if (ways.empty()) errors.Add("listen", R"(must name at least one of "unix:/path" and "ADDRESS:PORT")");
  for (size_t i = 0; i < ways.size(); ++i) {
    const std::string path = "listen[" + std::to_string(i) + "]";
    const bool local = IsSocket(ways[i], kLongestSocket);
    if (!local && !config::IsListenAddress(ways[i])) {
      errors.AddValue(path, "\"" + ways[i] + R"(" is neither "unix:/path" nor "ADDRESS:PORT")");
      continue;
    }
    std::string& place = local ? settings.socket : settings.listen;
    if (!place.empty()) errors.AddValue(path, local ? "is a second socket" : "is a second address");
    place = local ? ways[i].substr(kUnix.size()) : ways[i];
  }
}

void ReadNodes(JsonObject& whole, Settings& settings, JsonErrors& errors) {
  const json* const nodes = whole.Array("nodes");
  if (nodes == nullptr || nodes->empty()) return errors.Add("nodes", "must name at least one node");
  std::set<std::string> names;
  for (size_t i = 0; i < nodes->size(); ++i) {
    JsonObject object((*nodes)[i], "nodes[" + std::to_string(i) + "]", errors);
    NodeAddress node{object.String("name"), object.String("raild")};
    if (object.Has("name") && !config::IsDomain(node.name))
      errors.AddValue(object.PathOf("name"), "\"" + node.name + "\" is no name of a node");
    if (!node.name.empty() && !names.insert(node.name).second)
      errors.AddValue(object.PathOf("name"), node.name + " is there already");
    if (object.Has("raild") && !IsSocket(node.raild, kLongestPath) && !IsHostAndPort(node.raild))
      errors.AddValue(object.PathOf("raild"),
                      "\"" + node.raild + R"(" is neither "unix:/path" nor "HOST:PORT")");
    object.RejectUnknown();
    settings.nodes.push_back(std::move(node));
  }
}

bool AsksOverTcp(const Settings& settings) {
  return std::ranges::any_of(settings.nodes,
                             [](const NodeAddress& node) { return !node.raild.starts_with(kUnix); });
}

Status Check(const rpc::TlsFiles& files) {
  return files.empty() ? Status() : rpc::CheckTlsFiles(files);
}

}  // namespace

Result<Settings> ParseSettings(std::string_view text, const std::string& name) {
  RAIL_ASSIGN_AS(const json document, ParseJson(text, kLimits), name);
  JsonErrors errors;
  JsonObject whole(document, "", errors);
  Settings settings;
  ReadListen(whole, settings, errors);
  settings.tls = rpc::ReadTlsFiles(whole, "tls", errors);
  ReadNodes(whole, settings, errors);
  settings.raild_tls = rpc::ReadTlsFiles(whole, "raild_tls", errors);
  whole.RejectUnknown();
  if (!settings.listen.empty() && !whole.Has("tls"))
    errors.Add("tls", "is missing: " + settings.listen + " is served with mutual TLS alone");
  if (settings.listen.empty() && whole.Has("tls"))
    errors.Add("tls", "serves nothing: `listen` names no ADDRESS:PORT");
  if (AsksOverTcp(settings) && !whole.Has("raild_tls"))
    errors.Add("raild_tls", "is missing: raild is asked over TCP with mutual TLS alone");
  RAIL_TRY(errors.ToStatus(name));
  return settings;
}

Result<Settings> ReadSettings(const std::string& path) {
  RAIL_ASSIGN_AS(const std::string text, ReadWhole(path), "read the configuration");
  RAIL_ASSIGN(Settings settings, ParseSettings(text, path));
  RAIL_TRY_AS(Check(settings.tls), path + ": tls");
  RAIL_TRY_AS(Check(settings.raild_tls), path + ": raild_tls");
  return settings;
}

}  // namespace rail::railfabric
