#include "plugins/ovs-provider/config.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "lib/base/text.h"

namespace rail::ovs_provider {
namespace {

constexpr size_t kMaxRdmaName = 63;  // IB_DEVICE_NAME_MAX - 1

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// One of a few words; nothing when the key is absent.
template <class Value>
std::optional<Value> OneOf(JsonObject& object, const char* key, const std::map<std::string, Value>& words,
                           JsonErrors& errors) {
  if (!object.Has(key)) return std::nullopt;
  const std::string word = Lower(object.String(key));
  const auto it = words.find(word);
  if (it != words.end()) return it->second;
  std::string all;
  for (const auto& [known, value] : words) Append(all, ", ", known);
  if (!word.empty())
    errors.Add(object.PathOf(key), "must be one of: " + all + "; not \"" + word.substr(0, 64) + "\"");
  return std::nullopt;
}

std::optional<bool> OnOff(JsonObject& object, const char* key, JsonErrors& errors) {
  return OneOf<bool>(object, key, {{"on", true}, {"off", false}}, errors);
}

std::optional<netlink::VfVlan> Vlan(JsonObject& object, JsonErrors& errors) {
  netlink::VfVlan vlan;
  vlan.id = static_cast<uint16_t>(object.UintOr("vlan", 0, 0, 4094));
  vlan.qos = static_cast<uint8_t>(object.UintOr("vlanQoS", 0, 0, 7));
  vlan.service =
      OneOf<bool>(object, "vlanProto", {{"802.1q", false}, {"802.1ad", true}}, errors).value_or(false);
  const bool asked = object.Has("vlan");
  if ((!asked || vlan.id == 0) && (vlan.qos != 0 || vlan.service)) {
    errors.Add(object.PathOf("vlan"), "must be 1 to 4094 where vlanQoS or vlanProto 802.1ad is asked for");
  }
  return asked ? std::optional(vlan) : std::nullopt;
}

std::optional<netlink::VfRates> Rates(JsonObject& object, JsonErrors& errors) {
  netlink::VfRates rates;
  rates.min = static_cast<uint32_t>(object.UintOr("min_tx_rate", 0, 0, UINT32_MAX));
  rates.max = static_cast<uint32_t>(object.UintOr("max_tx_rate", 0, 0, UINT32_MAX));
  if (rates.max != 0 && rates.min > rates.max) {
    errors.Add(object.PathOf("min_tx_rate"), "must not be above max_tx_rate");
  }
  const bool asked = object.Has("min_tx_rate") || object.Has("max_tx_rate");
  return asked ? std::optional(rates) : std::nullopt;
}

bool IsRdmaName(const std::string& name) {
  return name.size() <= kMaxRdmaName && std::ranges::all_of(name, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '-';
         });
}

}  // namespace

device::Settings ParseDeviceSettings(JsonObject& object, JsonErrors& errors) {
  using netlink::VfLinkState;
  device::Settings settings;
  settings.vlan = Vlan(object, errors);
  settings.rates = Rates(object, errors);
  settings.spoofchk = OnOff(object, "spoofchk", errors);
  settings.trust = OnOff(object, "trust", errors);
  settings.link_state = OneOf<VfLinkState>(
      object, "link_state",
      {{"auto", VfLinkState::kAuto}, {"enable", VfLinkState::kEnable}, {"disable", VfLinkState::kDisable}},
      errors);
  settings.rdma_name = object.StringOr("rdma_name", "");
  if (!IsRdmaName(settings.rdma_name)) {
    errors.Add(object.PathOf("rdma_name"), "must be 1 to 63 letters, digits, '_' or '-'");
  }
  return settings;
}

}  // namespace rail::ovs_provider
