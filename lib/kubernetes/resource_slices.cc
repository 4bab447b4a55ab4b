#include "lib/kubernetes/resource_slices.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "lib/base/parse.h"
#include "lib/base/pci_address.h"
#include "lib/base/utf8.h"
#include "lib/config/values.h"

namespace rail::kubernetes {
namespace {

using nlohmann::json;

constexpr size_t kMostNode = 240;  // a slice's name has 253 characters at most

bool IsDriver(std::string_view text) {
  return text.size() <= 63 && config::IsDomain(text);
}

// Of an attribute or a capacity: letters, digits and '_' inside, after a domain or alone.
bool IsEntry(std::string_view text) {
  const size_t slash = text.find('/');
  const std::string_view name = text.substr(slash + 1);  // npos + 1 is 0
  return (slash == text.npos || IsDriver(text.substr(0, slash))) && config::IsLabelValue(name) &&
         name.size() <= 32 && name[0] > '9' && name.find_first_of("-.") == name.npos;
}

bool IsVersion(std::string_view text) {
  const auto is_number = [](std::string_view part) {
    return Number<uint32_t>(part) && (part[0] != '0' || part == "0");
  };
  const auto parts = Split(text, ".");
  return parts.size() == 3 && std::ranges::all_of(parts, is_number);
}

// As the server writes a whole number with a suffix, "25000M" as "25G"; nothing: `text` is none.
std::optional<std::string> QuantityText(std::string_view text) {
  constexpr std::array<std::string_view, 7> kDecimal = {"", "k", "M", "G", "T", "P", "E"};
  constexpr std::array<std::string_view, 7> kBinary = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  const auto& units = text.ends_with('i') ? kBinary : kDecimal;
  const uint64_t step = text.ends_with('i') ? 1024 : 1000;
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  auto number = Number<uint64_t>(text.substr(0, digits));
  const auto* unit = std::ranges::find(units, text.substr(digits));
  if (!number || unit == units.end()) return std::nullopt;
  if (*number == 0) return "0";
  for (; *number % step == 0 && *unit != units.back(); ++unit) *number /= step;
  return std::to_string(*number).append(*unit);
}

// "": the server takes it.
std::string ProblemOf(const Device& device) {
  if (!config::IsLabel(device.name)) return "a name is " + std::string(config::kLabelRule);
  if (device.attributes.size() + device.capacity.size() > 32)
    return "it has more than 32 attributes, capacities";
  if (device.taints.size() > 16) return "it has more than 16 taints";
  for (const auto& [name, value] : device.attributes) {
    const auto* const text = std::get_if<std::string>(&value);
    const auto* const version = std::get_if<Version>(&value);
    if (!IsEntry(name)) return "'" + name + "' is no attribute's name";
    if (text != nullptr && ValidUtf8(*text).size() > 64)
      return "attribute '" + name + "' has more than 64 bytes";
    if (version != nullptr && !IsVersion(version->text)) return "'" + name + "' is no version like 1.2.3";
  }
  for (const auto& [name, quantity] : device.capacity) {
    if (!IsEntry(name)) return "'" + name + "' is no capacity's name";
    if (!QuantityText(quantity)) return "'" + name + "' is no whole number like 25G or 4Gi: " + quantity;
  }
  for (const auto& [key, value, effect] : device.taints) {
    if (!config::IsLabelKey(key) || !config::OrNone<config::IsLabelValue>(value))
      return "taint '" + key + "' has no key and value of a label";
    if (effect != "None" && effect != "NoSchedule" && effect != "NoExecute")
      return "taint '" + key + "' has none of the effects None, NoSchedule and NoExecute";
  }
  return "";
}

json ToJson(const Device& device) {
  constexpr std::array<const char*, 4> kTypes = {"string", "int", "bool", "version"};  // of the variant
  json object = {{"name", device.name}};
  for (const auto& [name, value] : device.attributes) {
    json& attribute = object["attributes"][name][kTypes[value.index()]];
    if (const auto* const version = std::get_if<Version>(&value)) attribute = version->text;
    if (const auto* const text = std::get_if<std::string>(&value)) attribute = ValidUtf8(*text);
    if (const auto* const flag = std::get_if<bool>(&value)) attribute = *flag;
    if (const auto* const number = std::get_if<int64_t>(&value)) attribute = *number;
  }
  for (const auto& [name, quantity] : device.capacity)
    object["capacity"][name]["value"] = *QuantityText(quantity);
  for (const auto& [key, value, effect] : device.taints) {
    json& taint = object["taints"].emplace_back(json({{"key", key}, {"effect", effect}}));
    if (!value.empty()) taint["value"] = value;
  }
  return object;
}

}  // namespace

Result<std::string> DeviceNameOf(std::string_view id) {
  if (const auto address = PciAddress::Parse(id)) return address->ToLabel();
  if (config::IsLabel(id) && !PciAddress::ParseLabel(id)) return std::string(id);
  const std::string rule = "' for the API server: it is no PCI address, nor a DNS label that no address has";
  return Fail(Code::kInvalid, "name device '" + std::string(id) + rule);
}

Status CheckPool(const Pool& pool) {
  const auto refuse = [&](const std::string& why) {
    return Fail(Code::kInvalid, "offer devices of node '" + pool.node + "' as '" + pool.driver + "': " + why);
  };
  if (!IsDriver(pool.driver)) return refuse("a driver's name is a DNS subdomain of 63 characters at most");
  if (pool.node.size() > kMostNode || !config::IsDomain(pool.node))
    return refuse("a node's name is a DNS subdomain, here of 240 characters at most");
  std::set<std::string_view> names;
  for (const Device& device : pool.devices) {
    const std::string problem = names.insert(device.name).second ? ProblemOf(device) : "it is there twice";
    if (!problem.empty()) return refuse("device '" + device.name + "': " + problem);
  }
  return {};
}

Slices SlicesOf(const Pool& pool, const std::string& node_uid, int64_t generation) {
  const size_t count = (pool.devices.size() + kDevicesOfSlice - 1) / kDevicesOfSlice;
  json owner = {{"apiVersion", "v1"}, {"kind", "Node"}, {"controller", true}};
  owner.update({{"name", pool.node}, {"uid", node_uid}});
  const json about = {{"name", pool.node}, {"generation", generation}, {"resourceSliceCount", count}};
  Slices slices;
  for (size_t i = 0; i < pool.devices.size(); ++i) {
    char index[20];
    std::snprintf(index, sizeof index, "-%02zx", i / kDevicesOfSlice);
    const std::string name = "railcni-" + pool.node + index;
    slices[name]["metadata"] = {{"name", name}, {"ownerReferences", json::array({owner})}};
    json& spec = slices[name]["spec"];
    spec.update({{"driver", pool.driver}, {"nodeName", pool.node}, {"pool", about}});
    spec["devices"].push_back(ToJson(pool.devices[i]));
  }
  return slices;
}

}  // namespace rail::kubernetes
