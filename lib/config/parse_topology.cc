#include "lib/config/parse_topology.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/config/parse_kubernetes.h"

namespace rail::config {

namespace {

// Longer than any rail's name and any tier's number.
constexpr std::string_view kLongestEnd = "123456789012345";

void ParseLabels(const nlohmann::json& value, const std::string& path, TopologyLabels& labels,
                 JsonErrors& errors) {
  JsonObject object(value, path, errors);
  const auto key = [&](const char* name, std::string& to, std::string_view end) {
    to = object.StringOr(name, to);
    const bool off = to.empty() && std::string_view(name) == "tier";
    if (off || IsLabelKey(to + std::string(end))) return;
    errors.AddValue(object.PathOf(name), DumpJson(to) +
                                             " must be the key of a label, like \"railcni.io/su\"" +
                                             (end.empty() ? "" : ", to which up to 15 characters are added"));
  };
  key("unit", labels.unit, "");
  key("leaf", labels.leaf, kLongestEnd);
  key("tier", labels.tier, kLongestEnd);
  object.RejectUnknown();
  if (labels.unit == labels.leaf || labels.unit == labels.tier || labels.leaf == labels.tier)
    errors.Add(path, "unit, leaf and tier must differ");
}

}  // namespace

void ParseTopology(const nlohmann::json* value, Topology& topology, JsonErrors& errors) {
  if (value == nullptr) return;
  JsonObject object(*value, "topology", errors);
  topology.unit = object.StringOr("unit", "");
  if (!topology.unit.empty() && !IsLabelValue(topology.unit)) {
    errors.AddValue(
        object.PathOf("unit"),
        DumpJson(topology.unit) +
            " must be 1 to 63 of A-Z, a-z, 0-9, '-', '_' and '.', with a letter or digit at either end: "
            "it can be the value of a label then");
  }
  if (const auto* labels = object.Object("labels"))
    ParseLabels(*labels, object.PathOf("labels"), topology.labels.emplace(), errors);
  object.RejectUnknown();
}

}  // namespace rail::config
