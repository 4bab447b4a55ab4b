#include "lib/config/parse_lossless.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

namespace rail::config {
namespace {

using nlohmann::json;

constexpr uint64_t kMostPriority = 7;  // IEEE 802.1Q: three bits
constexpr uint64_t kMostDscp = 63;     // RFC 2474: six bits
constexpr int kEcnBits = 2;            // RFC 3168: below the DSCP

// The list of priorities at `key`: [3], [3, 4], [].
std::set<uint8_t> Priorities(JsonObject& object, std::string_view key, JsonErrors& errors) {
  std::set<uint8_t> priorities;
  const json* list = object.Array(key);
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const json& value = (*list)[i];
    const bool right = value.is_number_unsigned() && value.get<uint64_t>() <= kMostPriority;
    if (right && priorities.insert(value.get<uint8_t>()).second) continue;
    errors.AddValue(object.PathOf(key) + "[" + std::to_string(i) + "]",
                    right ? DumpJson(value) + " is in this list already"
                          : DumpJson(value) + " must be a priority, a whole number from 0 to 7");
  }
  return priorities;
}

std::map<uint8_t, uint8_t> DscpMap(JsonObject& object, JsonErrors& errors) {
  std::map<uint8_t, uint8_t> map;
  const json* entries = object.Object("dscp_to_priority");
  if (entries == nullptr) return map;
  JsonObject inner(*entries, object.PathOf("dscp_to_priority"), errors);
  for (const auto& [key, unused] : entries->items()) {
    uint64_t dscp = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), dscp);
    const bool right = error == std::errc() && end == key.data() + key.size() && dscp <= kMostDscp &&
                       key == std::to_string(dscp);
    if (!right) {
      inner.Allow(key);
      errors.Add(inner.PathOf(key), "is no DSCP, a whole number from 0 to 63");
      continue;
    }
    if (inner.Has(key))
      map[static_cast<uint8_t>(dscp)] = static_cast<uint8_t>(inner.Uint(key, 0, kMostPriority));
  }
  return map;
}

Lossless Section(const json& value, const std::string& path, JsonErrors& errors) {
  Lossless wanted;
  JsonObject object(value, path, errors);
  if (object.Has("trust")) {
    const std::string trust = object.StringOr("trust", "dscp");
    if (trust != "dscp" && trust != "pcp")
      errors.AddValue(object.PathOf("trust"), DumpJson(trust) + " must be \"dscp\" or \"pcp\"");
    wanted.trust = trust == "pcp" ? Trust::kPcp : Trust::kDscp;
  }
  if (object.Has("pfc")) wanted.pfc = Priorities(object, "pfc", errors);
  wanted.ecn = Priorities(object, "ecn", errors);
  wanted.dscp_to_priority = DscpMap(object, errors);
  if (object.Has("tos")) wanted.tos = static_cast<uint8_t>(object.Uint("tos", 0, UINT8_MAX));
  wanted.manage_qos = object.BoolOr("manage_qos", false);
  object.RejectUnknown();
  return wanted;
}

// What contradicts itself would be a finding that nothing mends.
void Contradictions(const Lossless& wanted, const std::string& path, JsonErrors& errors) {
  const bool pcp = wanted.trust == Trust::kPcp;
  if (pcp && !wanted.dscp_to_priority.empty())
    errors.Add(path + ".dscp_to_priority", "has no effect with \"trust\": \"pcp\"");
  if (wanted.manage_qos && wanted.trust == Trust::kDscp && wanted.dscp_to_priority.empty())
    errors.Add(path + ".manage_qos",
               "true with \"trust\": \"dscp\" needs dscp_to_priority: an uplink trusts DSCP as soon as its "
               "table has an entry");
  for (const uint8_t priority : wanted.ecn) {
    if (wanted.pfc && !wanted.pfc->contains(priority))
      errors.Add(path + ".ecn", "names priority " + std::to_string(priority) + ", which is not in pfc");
  }
  if (!wanted.tos || !wanted.pfc || pcp) return;
  const auto mapped = wanted.dscp_to_priority.find(static_cast<uint8_t>(*wanted.tos >> kEcnBits));
  if (mapped != wanted.dscp_to_priority.end() && !wanted.pfc->contains(mapped->second))
    errors.Add(path + ".tos", std::to_string(*wanted.tos) + " is DSCP " + std::to_string(mapped->first) +
                                  ", which dscp_to_priority gives priority " +
                                  std::to_string(mapped->second) + ", and that is not in pfc");
}

}  // namespace

std::optional<Lossless> ParseLossless(const json* node, const json* rail, const std::string& path,
                                      JsonErrors& errors) {
  if (node == nullptr && rail == nullptr) return std::nullopt;
  // The rail's keys take the place of the node's, key by key; an error is in the section that says it.
  json merged = node == nullptr ? json::object() : *node;
  if (rail != nullptr) {
    for (const auto& [key, value] : rail->items()) {
      if (!value.is_null()) merged[key] = value;
    }
  }
  const std::string place = rail == nullptr ? "lossless" : path;
  const size_t known = errors.size();
  Lossless wanted = Section(merged, place, errors);
  if (errors.size() == known) Contradictions(wanted, place, errors);
  return wanted;
}

}  // namespace rail::config
