#include "lib/cni/result.h"

#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"
#include "lib/cni/version.h"

namespace rail::cni {
namespace {

using nlohmann::json;

constexpr uint32_t kAny = UINT32_MAX;

// How the specification's versions differ: until 0.4.0 a result has "ips[].version" and always a "dns"; from 1.1.0 it
// has more about interfaces.
bool HasFamilies(const std::string& version) {
  return !AtLeast(version, "1.0.0");
}
bool HasDetails(const std::string& version) {
  return AtLeast(version, "1.1.0");
}

uint32_t Uint32Or0(JsonObject& object, std::string_view key) {
  return static_cast<uint32_t>(object.UintOr(key, 0, 0, kAny));
}

std::optional<uint32_t> OptionalUint32(JsonObject& object, std::string_view key) {
  if (!object.Has(key)) return std::nullopt;
  return Uint32Or0(object, key);
}

std::optional<IpAddress> ParseGateway(JsonObject& object, std::string_view key, JsonErrors& errors) {
  const std::string text = object.StringOr(key, "");
  if (text.empty()) return std::nullopt;
  auto address = IpAddress::Parse(text);
  if (!address) {
    errors.Add(object.PathOf(key), address.error().message);
    return std::nullopt;
  }
  return *address;
}

IpPrefix ParsePrefix(JsonObject& object, std::string_view key, JsonErrors& errors) {
  const bool present = object.Has(key);
  const std::string text = object.String(key);
  if (!present) return {};
  auto prefix = IpPrefix::Parse(text);
  if (!prefix) {
    errors.Add(object.PathOf(key), prefix.error().message);
    return {};
  }
  return *prefix;
}

int ParseInterfaceIndex(const json& value, size_t interfaces, const std::string& path, JsonErrors& errors) {
  const auto found = value.find("interface");
  if (found == value.end() || found->is_null()) return -1;
  // Do not compare it as JSON: there 2^64-1 equals -1.
  if (found->is_number_unsigned()) {
    // Without a list of interfaces (the answer of an IPAM plugin) the index has no meaning.
    if (interfaces == 0) return -1;
    if (found->get<uint64_t>() < interfaces) return found->get<int>();
  } else if (found->is_number_integer() && found->get<int64_t>() == -1) {
    return -1;
  }
  errors.Add(path + ".interface",
             "must be -1 or the index of one of the " + std::to_string(interfaces) + " interfaces");
  return -1;
}

template <class Each>
void ForEach(JsonObject& object, std::string_view key, const Each& each) {
  const json* array = object.Array(key);
  if (array == nullptr) return;
  for (size_t i = 0; i < array->size(); ++i)
    each((*array)[i], object.PathOf(key) + "[" + std::to_string(i) + "]");
}

// The version of a result, or an error that names the key.
Result<std::string> VersionOf(const json& value, const std::string& default_version) {
  if (!value.is_object() && !value.is_null()) {
    return Fail(Code::kInvalid, std::string("the result must be an object, not ") + value.type_name());
  }
  std::string version = default_version;
  if (value.is_object()) {
    if (const auto found = value.find("cniVersion"); found != value.end() && !found->is_null()) {
      if (!found->is_string()) return Fail(Code::kInvalid, "cniVersion: must be a string");
      if (!found->get_ref<const std::string&>().empty()) version = found->get<std::string>();
    }
  }
  if (!IsSupported(version)) {
    return Fail(Code::kInvalid, "cniVersion: a result of version " + Quote(version) +
                                    " cannot be read, only " + QuoteList(SupportedVersions()));
  }
  return version;
}

json InterfaceToJson(const Interface& interface, bool details) {
  json out = {{"name", interface.name}};
  if (!interface.mac.empty()) out["mac"] = interface.mac;
  if (!interface.sandbox.empty()) out["sandbox"] = interface.sandbox;
  if (!details) return out;
  if (interface.mtu != 0) out["mtu"] = interface.mtu;
  if (!interface.socket_path.empty()) out["socketPath"] = interface.socket_path;
  if (!interface.pci_id.empty()) out["pciID"] = interface.pci_id;
  return out;
}

json IpToJson(const IpConfig& ip, bool families) {
  json out = {{"address", ip.address.ToString()}};
  if (families) out["version"] = ip.address.address.is_v6() ? "6" : "4";
  if (ip.gateway) out["gateway"] = ip.gateway->ToString();
  if (ip.interface >= 0) out["interface"] = ip.interface;
  return out;
}

// Prints every known field in every version, as the reference library does. Otherwise a CHECK of an older version could
// not tell which route was asked for.
json RouteToJson(const RouteConfig& route) {
  json out = {{"dst", route.destination.ToString()}};
  if (route.gateway) out["gw"] = route.gateway->ToString();
  if (route.mtu != 0) out["mtu"] = route.mtu;
  if (route.advmss != 0) out["advmss"] = route.advmss;
  if (route.priority) out["priority"] = *route.priority;
  if (route.table) out["table"] = *route.table;
  if (route.scope) out["scope"] = *route.scope;
  return out;
}

}  // namespace

Result<AddResult> AddResult::Parse(const json& value, const std::string& default_version) {
  RAIL_TRY(VersionOf(value, default_version));
  AddResult result;
  if (value.is_null()) return result;

  JsonErrors errors;
  JsonObject object(value, "", errors);
  ForEach(object, "interfaces", [&](const json& element, const std::string& path) {
    JsonObject from(element, path, errors);
    Interface interface;
    interface.name = from.String("name");
    interface.mac = from.StringOr("mac", "");
    interface.sandbox = from.StringOr("sandbox", "");
    interface.mtu = Uint32Or0(from, "mtu");
    interface.pci_id = from.StringOr("pciID", "");
    interface.socket_path = from.StringOr("socketPath", "");
    result.interfaces.push_back(std::move(interface));
  });
  ForEach(object, "ips", [&](const json& element, const std::string& path) {
    JsonObject from(element, path, errors);
    if (!element.is_object()) return;
    IpConfig ip;
    ip.address = ParsePrefix(from, "address", errors);
    ip.gateway = ParseGateway(from, "gateway", errors);
    ip.interface = ParseInterfaceIndex(element, result.interfaces.size(), path, errors);
    result.ips.push_back(ip);
  });
  ForEach(object, "routes", [&](const json& element, const std::string& path) {
    JsonObject from(element, path, errors);
    RouteConfig route;
    route.destination = ParsePrefix(from, "dst", errors);
    route.gateway = ParseGateway(from, "gw", errors);
    route.mtu = Uint32Or0(from, "mtu");
    route.advmss = Uint32Or0(from, "advmss");
    route.priority = OptionalUint32(from, "priority");
    route.table = OptionalUint32(from, "table");
    route.scope = OptionalUint32(from, "scope");
    result.routes.push_back(route);
  });
  if (const json* dns = object.Object("dns"); dns != nullptr && !dns->empty()) result.dns = DumpJson(*dns);
  RAIL_TRY(errors.ToStatus("result"));
  return result;
}

std::string AddResult::Print(const std::string& version) const {
  json out = {{"cniVersion", version}};
  for (const Interface& interface : interfaces) {
    out["interfaces"].push_back(InterfaceToJson(interface, HasDetails(version)));
  }
  for (const IpConfig& ip : ips) out["ips"].push_back(IpToJson(ip, HasFamilies(version)));
  for (const RouteConfig& route : routes) out["routes"].push_back(RouteToJson(route));
  auto parsed = dns.empty() ? json::object() : ParseJson(dns).value_or(json::object());
  if (HasFamilies(version) || !parsed.empty()) out["dns"] = std::move(parsed);
  return DumpJson(out);
}

Result<std::string> PassThrough(const json& previous, const std::string& version) {
  RAIL_ASSIGN(const std::string from, VersionOf(previous, version));
  RAIL_TRY(AddResult::Parse(previous, version));

  json out = previous.is_null() ? json::object() : previous;
  out["cniVersion"] = version;
  const auto ips = out.find("ips");
  const bool has_ips = ips != out.end() && ips->is_array();
  if (HasFamilies(version)) {
    if (!out.contains("dns") || out["dns"].is_null()) out["dns"] = json::object();
    for (size_t i = 0; has_ips && i < ips->size(); ++i) {
      json& ip = (*ips)[i];
      ip["version"] = ip["address"].get_ref<const std::string&>().find(':') == std::string::npos ? "4" : "6";
    }
  } else if (HasFamilies(from)) {
    for (size_t i = 0; has_ips && i < ips->size(); ++i) (*ips)[i].erase("version");
    if (out.contains("dns") && out["dns"].empty()) out.erase("dns");
  }
  return DumpJson(out);
}

}  // namespace rail::cni
