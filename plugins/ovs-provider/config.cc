#include "plugins/ovs-provider/config.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

namespace rail::ovs_provider {

using nlohmann::json;

namespace {

// The object under `key`, an empty one where there is none.
json ObjectIn(const json& parent, const char* key) {
  json found = parent.value(key, json::object());
  return found.is_object() ? found : json::object();
}

// The MAC address that the pod has chosen by the capability "mac".
std::optional<MacAddress> PodsMac(const cni::Request& request, JsonErrors& errors) {
  const json runtime = ObjectIn(*request.config, "runtimeConfig");
  JsonObject object(runtime, "runtimeConfig", errors);
  if (!object.Has("mac")) return std::nullopt;
  const auto mac = MacAddress::Parse(object.String("mac"));
  if (mac && !mac->is_zero() && !mac->is_multicast()) return *mac;
  errors.Add("runtimeConfig.mac", "must be the MAC address of one interface: \"02:00:00:00:00:07\"");
  return std::nullopt;
}

}  // namespace

// Ignores keys that are not ours: the runtime, Multus and IPAM put theirs beside them.
cni::Outcome<Config> ParseConfig(const cni::Request& request) {
  JsonErrors errors;
  JsonObject object(*request.config, "", errors);
  Config config{.rail = object.String("rail"), .device = ParseDeviceSettings(object, errors)};
  if (const json* ipam = object.Object("ipam")) {
    JsonObject(*ipam, "ipam", errors).String("type");
  }
  config.device.mac = PodsMac(request, errors);
  RAIL_TRY(errors.ToStatus("ovs-provider's configuration"));
  return config;
}

namespace {

void AddAddress(std::vector<IpAddress>& to, const json& text) {
  if (!text.is_string()) return;
  if (const auto prefix = IpPrefix::Parse(text.get_ref<const std::string&>())) to.push_back(prefix->address);
}

// `key` as Go's encoding/json would take it for a field's: it looks at no case, also not at that of the two letters beyond ASCII
// (U+017F, U+212A) whose other case is "s" and "k".
std::string Folded(std::string_view key) {
  std::string folded;
  for (size_t at = 0; at < key.size(); ++at) {
    if (key.substr(at).starts_with("\u017f")) {
      folded += 's';
      at += 1;
    } else if (key.substr(at).starts_with("\u212a")) {
      folded += 'k';
      at += 2;
    } else {
      folded += static_cast<char>(std::tolower(static_cast<unsigned char>(key[at])));
    }
  }
  return folded;
}

// Whether an IPAM plugin finds `key` in the object.
bool HasKey(const json& object, std::string_view key) {
  return std::ranges::any_of(object.items(),
                             [&](const auto& one) { return Folded(one.key()) == Folded(key); });
}

// Where a pod asks for a MAC address that ParseConfig does not give it; "": nowhere. Multus writes the annotation's "mac" into
// CNI_ARGS of every network, and into runtimeConfig where the network declares the capability.
std::string KeyOfMac(const cni::Request& request, const std::map<std::string, std::string>& variables,
                     const json& wishes) {
  const json chosen = ObjectIn(*request.config, "runtimeConfig").value("mac", json());
  const bool adopts = request.prev_result != nullptr;
  if (adopts && !chosen.is_null()) return "runtimeConfig.mac";
  if (const auto it = variables.find("MAC"); it != variables.end() && chosen != it->second)
    return "CNI_ARGS: MAC";
  return HasKey(wishes, "mac") ? "args.cni.mac" : "";
}

}  // namespace

Status CheckStaticAddresses(const cni::Request& request, const cni::AddResult& given) {
  const json& config = *request.config;
  const json ipam = ObjectIn(config, "ipam");
  if (ipam.value("type", json()) != "static") return {};
  std::vector<IpAddress> allowed;
  const auto addresses = ipam.find("addresses");
  if (addresses != ipam.end() && addresses->is_array() && !addresses->empty()) {
    for (const json& entry : *addresses) {
      if (entry.is_object()) AddAddress(allowed, entry.value("address", json()));
    }
  } else if (const auto runtime = config.find("runtimeConfig");
             runtime != config.end() && runtime->is_object()) {
    for (const json& entry : runtime->value("ips", json::array())) AddAddress(allowed, entry);
  }
  for (const cni::IpConfig& ip : given.ips) {
    if (std::ranges::find(allowed, ip.address.address) != allowed.end()) continue;
    return Fail(Code::kInvalid, "IPAM static gave " + ip.address.address.ToString() +
                                    ", which the pod asked for and the network does not list: ipam.addresses "
                                    "must hold it, or be left out and the capability \"ips\" declared");
  }
  return {};
}

Status CheckPodsWishes(const cni::Request& request) {
  const json& config = *request.config;
  const bool adopts = request.prev_result != nullptr;
  const std::map<std::string, std::string> variables = cni::ParseArgs(request.args);
  const json wishes = ObjectIn(ObjectIn(config, "args"), "cni");
  if (!ObjectIn(config, "runtimeConfig").contains("ips")) {
    const std::string why =
        ": network " + request.network +
        " lets no pod choose its address: take it out of the pod's annotation, or declare the capability "
        "\"ips\" for ovs-provider in the NetworkAttachmentDefinition";
    for (const char* key : {"IP", "GATEWAY"}) {
      if (variables.contains(key)) return Fail(Code::kInvalid, std::string("CNI_ARGS: ") + key + why);
    }
    if (HasKey(wishes, "ips")) return Fail(Code::kInvalid, "args.cni.ips" + why);
  }
  if (const std::string key = KeyOfMac(request, variables, wishes); !key.empty()) {
    return Fail(
        Code::kInvalid,
        key + (adopts ? ": the interface of network " + request.network +
                            " was made by the plugin before ovs-provider, which may have given it this MAC "
                            "address, and no pod may choose its own: take it out of the pod's annotation"
                      : ": network " + request.network +
                            " lets no pod choose its MAC address: take it out of the pod's annotation, or "
                            "declare the capability \"mac\" for ovs-provider in the "
                            "NetworkAttachmentDefinition and name it once, as \"mac\""));
  }
  // Which IPAM the plugin before us has asked is not in our configuration.
  if (!adopts && ObjectIn(config, "ipam").value("type", json()) != "nv-ipam") return {};
  for (const char* key : {"poolNames", "poolType", "allocateDefaultGateway", "allocateIPWithIndex"}) {
    if (!HasKey(wishes, key)) continue;
    return Fail(Code::kInvalid,
                std::string("args.cni.") + key +
                    ": the pod's cni-args must not hold it: which pool of IPAM nv-ipam a network takes its "
                    "addresses from is for its NetworkAttachmentDefinition to say");
  }
  return {};
}

}  // namespace rail::ovs_provider
