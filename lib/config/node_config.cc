#include "lib/config/node_config.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "lib/config/keys.h"

namespace rail::config {

using nlohmann::json;

namespace {

File Read(const json& document) {
  File file{.document = document, .node = {}, .errors = {}, .taken = {}};
  ReadKeys(kNodeKeys, document, "", &file.node, file);
  std::ranges::sort(file.node.rails, {}, &Rail::index);
  return file;
}

Result<NodeConfig> NodeOf(const json& document, std::string_view name) {
  File file = Read(document);
  RAIL_TRY(file.errors.ToStatus(name));
  return std::move(file.node);
}

}  // namespace

std::vector<JsonError> ProblemsOf(const json& document) {
  return Read(document).errors.all();
}

Result<NodeConfig> Parse(std::string_view text) {
  RAIL_ASSIGN_AS(const json document, ParseJson(text), "node.json");
  return NodeOf(document, "node.json");
}

Result<NodeConfig> Load(const std::string& path) {
  RAIL_ASSIGN_AS(const json document, ReadJsonFile(path), "read the node's configuration");
  return NodeOf(document, path);
}

Paths Paths::Under(std::string_view root) {
  while (root.ends_with('/')) root.remove_suffix(1);
  const std::string prefix(root);
  return Paths{
      .config_file = prefix + "/etc/railcni/node.json",
      .state_file = prefix + "/var/lib/railcni/state.db",
      .tenants_file = prefix + "/var/lib/railcni/tenants.json",
      .origin_file = prefix + "/var/lib/railcni/origin.json",
      .good_rails_file = prefix + "/var/lib/railcni/good-rails.json",
      .leaves_file = prefix + "/var/lib/railcni/leaves.json",
      .labels_file = prefix + "/var/lib/railcni/labels.json",
      .socket = prefix + "/run/railcni/raild.sock",
      .wake_socket = prefix + "/run/railcni/wake.sock",
      .sysfs = "/sys",
  };
}

Paths Paths::FromEnvironment() {
  const char* root = std::getenv("RAILCNI_ROOT");
  Paths paths = Under(root == nullptr ? "" : root);
  if (const char* sysfs = std::getenv("RAILCNI_SYSFS")) paths.sysfs = sysfs;
  return paths;
}

MacAddress Rail::GatewayMac() const {
  return MacAddress{{0x02, 0x52, 0x41, 0x49, 0x4c, static_cast<uint8_t>(index)}};
}

const DeviceEntry* Rail::FindDevice(std::string_view device) const {
  const auto it = std::ranges::find(devices, device, &DeviceEntry::device);
  return it == devices.end() ? nullptr : &*it;
}

std::string Kubelet::ResourceOf(const Rail& rail) const {
  std::string name = resource;
  const auto put = [&name](std::string_view word, const std::string& value) {
    for (size_t at = name.find(word); at != std::string::npos; at = name.find(word, at + value.size()))
      name.replace(at, word.size(), value);
  };
  put("{index}", std::to_string(rail.index));
  put("{rail}", rail.name);
  return name;
}

const Rail* NodeConfig::FindRail(std::string_view name) const {
  const auto it = std::ranges::find(rails, name, &Rail::name);
  return it == rails.end() ? nullptr : &*it;
}

IpAddress DefaultGateway(bool v6) {
  using namespace std::string_view_literals;
  return *IpAddress::FromBytes(v6 ? "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1"sv : "\xa9\xfe\1\1"sv);
}

}  // namespace rail::config
