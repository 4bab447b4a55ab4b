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

}  // namespace

std::string Saved::ToJson() const {
  return DumpJson({{"id", id},
                   {"netdev", netdev},
                   {"representor", representor},
                   {"mac", mac.ToString()},
                   {"mtu", mtu},
                   {"up", up},
                   {"representor_mtu", representor_mtu},
                   {"representor_up", representor_up},
                   {"kind", kind},
                   {"parent_device", parent_device},
                   {"permanent_mac", permanent_mac.ToString()}});
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
  for (const char* key : {"up", "representor_up"}) {
    if (document.is_object() && !object.Has(key)) errors.Add(object.PathOf(key), "is missing");
  }
  object.RejectUnknown();
  RAIL_TRY(errors.ToStatus(kDocument));
  return saved;
}

}  // namespace rail::device
