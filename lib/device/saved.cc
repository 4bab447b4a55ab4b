#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"
#include "lib/device/device.h"

namespace rail::device {
namespace {

MacAddress Mac(JsonObject& object, std::string_view key, JsonErrors& errors) {
  const std::string text = object.String(key);
  auto mac = MacAddress::Parse(text);
  if (mac) return *mac;
  if (!text.empty()) errors.Add(object.PathOf(key), mac.error().message);
  return {};
}

using nlohmann::json;

// Leaves out a setting that the driver does not report.
template <class Value>
void PutIf(json& object, const char* key, const std::optional<Value>& value) {
  if (value) object[key] = *value;
}

json ToJson(const SavedVf& vf) {
  json object{{"pf", vf.pf},
              {"pf_mac", vf.pf_mac.ToString()},
              {"index", vf.index},
              {"mac", vf.state.mac.ToString()},
              {"vlan", vf.state.vlan.id},
              {"vlan_qos", vf.state.vlan.qos},
              {"vlan_service", vf.state.vlan.service},
              {"min_tx_rate", vf.state.rates.min},
              {"max_tx_rate", vf.state.rates.max},
              {"rdma", vf.rdma},
              {"rdma_index", vf.rdma_index}};
  PutIf(object, "spoofchk", vf.state.spoofchk);
  PutIf(object, "trust", vf.state.trust);
  if (vf.state.link_state) object["link_state"] = static_cast<int>(*vf.state.link_state);
  return object;
}

std::optional<bool> BoolIf(JsonObject& object, const char* key) {
  if (!object.Has(key)) return std::nullopt;
  return object.BoolOr(key, false);
}

json ToJson(const Settings& asked) {
  json object = json::object();
  if (asked.vlan) {
    object["vlan"] = asked.vlan->id;
    object["vlan_qos"] = asked.vlan->qos;
    object["vlan_service"] = asked.vlan->service;
  }
  if (asked.rates) {
    object["min_tx_rate"] = asked.rates->min;
    object["max_tx_rate"] = asked.rates->max;
  }
  PutIf(object, "spoofchk", asked.spoofchk);
  PutIf(object, "trust", asked.trust);
  if (asked.link_state) object["link_state"] = static_cast<int>(*asked.link_state);
  if (!asked.rdma_name.empty()) object["rdma_name"] = asked.rdma_name;
  if (asked.mac) object["mac"] = asked.mac->ToString();
  return object;
}

netlink::VfVlan Vlan(JsonObject& object) {
  return {.id = static_cast<uint16_t>(object.Uint("vlan", 0, 4095)),
          .qos = static_cast<uint8_t>(object.Uint("vlan_qos", 0, 7)),
          .service = object.BoolOr("vlan_service", false)};
}

netlink::VfRates Rates(JsonObject& object) {
  return {.min = static_cast<uint32_t>(object.Uint("min_tx_rate", 0, UINT32_MAX)),
          .max = static_cast<uint32_t>(object.Uint("max_tx_rate", 0, UINT32_MAX))};
}

std::optional<netlink::VfLinkState> LinkStateIf(JsonObject& object) {
  if (!object.Has("link_state")) return std::nullopt;
  return static_cast<netlink::VfLinkState>(object.Uint("link_state", 0, 2));
}

Settings AskedFromJson(const json& value, JsonErrors& errors) {
  JsonObject object(value, "asked", errors);
  Settings asked;
  if (object.Has("vlan")) asked.vlan = Vlan(object);
  if (object.Has("min_tx_rate")) asked.rates = Rates(object);
  asked.spoofchk = BoolIf(object, "spoofchk");
  asked.trust = BoolIf(object, "trust");
  asked.link_state = LinkStateIf(object);
  asked.rdma_name = object.StringOr("rdma_name", "");
  if (object.Has("mac")) asked.mac = Mac(object, "mac", errors);
  object.RejectUnknown();
  return asked;
}

SavedVf VfFromJson(const json& value, JsonErrors& errors) {
  JsonObject object(value, "vf", errors);
  SavedVf vf;
  if (object.Has("pf")) {
    vf.pf = object.String("pf");
    vf.pf_mac = Mac(object, "pf_mac", errors);
    vf.index = static_cast<uint32_t>(object.Uint("index", 0, UINT32_MAX));
  }
  vf.state.mac = Mac(object, "mac", errors);
  vf.state.vlan = Vlan(object);
  vf.state.rates = Rates(object);
  vf.state.spoofchk = BoolIf(object, "spoofchk");
  vf.state.trust = BoolIf(object, "trust");
  vf.state.link_state = LinkStateIf(object);
  vf.rdma = object.String("rdma");
  vf.rdma_index = static_cast<uint32_t>(object.Uint("rdma_index", 0, UINT32_MAX));
  object.RejectUnknown();
  return vf;
}

}  // namespace

std::string Saved::ToJson() const {
  json object{{"id", id},
              {"netdev", netdev},
              {"representor", representor},
              {"mac", mac.ToString()},
              {"mtu", mtu},
              {"up", up},
              {"representor_mtu", representor_mtu},
              {"representor_up", representor_up},
              {"kind", kind},
              {"parent_device", parent_device},
              {"permanent_mac", permanent_mac.ToString()}};
  if (vf) object["vf"] = device::ToJson(*vf);
  if (!asked.empty()) object["asked"] = device::ToJson(asked);
  return DumpJson(object);
}

Result<Saved> Saved::FromJson(std::string_view text) {
  constexpr std::string_view kDocument = "saved device";
  RAIL_ASSIGN_AS(const nlohmann::json document, ParseJson(text), kDocument);
  JsonErrors errors;
  JsonObject object(document, "", errors);
  Saved saved;
  saved.id = object.String("id");
  saved.netdev = object.String("netdev");
  saved.representor = object.String("representor");
  saved.mac = Mac(object, "mac", errors);
  saved.mtu = static_cast<uint32_t>(object.Uint("mtu", 0, UINT32_MAX));
  saved.up = object.BoolOr("up", false);
  saved.representor_mtu = static_cast<uint32_t>(object.Uint("representor_mtu", 0, UINT32_MAX));
  saved.representor_up = object.BoolOr("representor_up", false);
  saved.kind = object.String("kind");
  saved.parent_device = object.String("parent_device");
  saved.permanent_mac = Mac(object, "permanent_mac", errors);
  if (const json* vf = object.Object("vf")) saved.vf = VfFromJson(*vf, errors);
  if (const json* asked = object.Object("asked")) saved.asked = AskedFromJson(*asked, errors);
  for (const char* key : {"up", "representor_up"}) {
    if (document.is_object() && !object.Has(key)) errors.Add(object.PathOf(key), "is missing");
  }
  object.RejectUnknown();
  RAIL_TRY(errors.ToStatus(kDocument));
  return saved;
}

}  // namespace rail::device
