#include "plugins/ovs-provider/config.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/base/strict_json.h"
#include "plugins/ovs-provider/device_settings.h"

namespace rail::ovs_provider {

// Ignores keys that are not ours: the runtime, Multus and IPAM put theirs beside them.
cni::Outcome<Config> ParseConfig(const cni::Request& request) {
  JsonErrors errors;
  JsonObject object(*request.config, "", errors);
  Config config{.rail = object.String("rail"), .device = ParseDeviceSettings(object, errors)};
  if (const nlohmann::json* ipam = object.Object("ipam")) {
    JsonObject(*ipam, "ipam", errors).String("type");
  }
  RAIL_TRY(errors.ToStatus("ovs-provider's configuration"));
  return config;
}

namespace {

// The object under `key`, an empty one where there is none.
nlohmann::json ObjectIn(const nlohmann::json& parent, const char* key) {
  nlohmann::json found = parent.value(key, nlohmann::json::object());
  return found.is_object() ? found : nlohmann::json::object();
}

void AddAddress(std::vector<IpAddress>& to, const nlohmann::json& text) {
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
bool HasKey(const nlohmann::json& object, std::string_view key) {
  for (const auto& [name, value] : object.items()) {
    if (Folded(name) == Folded(key)) return true;
  }
  return false;
}

}  // namespace

Status CheckStaticAddresses(const cni::Request& request, const cni::AddResult& given) {
  const nlohmann::json& config = *request.config;
  const nlohmann::json ipam = ObjectIn(config, "ipam");
  if (ipam.value("type", nlohmann::json()) != "static") return {};
  std::vector<IpAddress> allowed;
  const auto addresses = ipam.find("addresses");
  if (addresses != ipam.end() && addresses->is_array() && !addresses->empty()) {
    for (const nlohmann::json& entry : *addresses) {
      if (entry.is_object()) AddAddress(allowed, entry.value("address", nlohmann::json()));
    }
  } else if (const auto runtime = config.find("runtimeConfig");
             runtime != config.end() && runtime->is_object()) {
    for (const nlohmann::json& entry : runtime->value("ips", nlohmann::json::array()))
      AddAddress(allowed, entry);
  }
  for (const cni::IpConfig& ip : given.ips) {
    if (std::ranges::find(allowed, ip.address.address) != allowed.end()) continue;
    return Fail(
        Code::kInvalid,
        "IPAM static gave " + ip.address.address.ToString() +
            ", which the pod asked for and the network does not list: ipam.addresses must hold it, or be "
            "left out and the capability \"ips\" declared");
  }
  return {};
}

Status CheckPodsWishes(const cni::Request& request) {
  const nlohmann::json& config = *request.config;
  const bool adopts = request.prev_result != nullptr;
  const std::map<std::string, std::string> variables = cni::ParseArgs(request.args);
  const nlohmann::json wishes = ObjectIn(ObjectIn(config, "args"), "cni");
  if (!ObjectIn(config, "runtimeConfig").contains("ips")) {
    const std::string why =
        ": network " + request.network +
        " lets no pod choose its address: take it out of the pod's annotation, or declare "
        "the capability \"ips\" for ovs-provider in the NetworkAttachmentDefinition";
    for (const char* key : {"IP", "GATEWAY"}) {
      if (variables.contains(key)) return Fail(Code::kInvalid, std::string("CNI_ARGS: ") + key + why);
    }
    if (HasKey(wishes, "ips")) return Fail(Code::kInvalid, "args.cni.ips" + why);
  }
  if (adopts && (variables.contains("MAC") || HasKey(wishes, "mac"))) {
    return Fail(
        Code::kInvalid,
        std::string(variables.contains("MAC") ? "CNI_ARGS: MAC" : "args.cni.mac") +
            ": the interface of network " + request.network +
            " was made by the plugin before ovs-provider, which may have given it this MAC address, and "
            "no pod may choose its own: take it out of the pod's annotation");
  }
  // Which IPAM the plugin before us has asked is not in our configuration.
  if (!adopts && ObjectIn(config, "ipam").value("type", nlohmann::json()) != "nv-ipam") return {};
  for (const char* key : {"poolNames", "poolType", "allocateDefaultGateway", "allocateIPWithIndex"}) {
    if (!HasKey(wishes, key)) continue;
    return Fail(Code::kInvalid,
                std::string("args.cni.") + key +
                    ": the pod's cni-args must not hold it: which pool of IPAM nv-ipam a network "
                    "takes its addresses from is for its NetworkAttachmentDefinition to say");
  }
  return {};
}

}  // namespace rail::ovs_provider
