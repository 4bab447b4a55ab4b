#include "lib/config/parse_topology.h"

#include <nlohmann/json.hpp>

#include "lib/config/parse_kubernetes.h"

namespace rail::config {
namespace {

// The longest rail's name has 15 bytes, and all that follows the slash 63 at most.
constexpr const char* kAnyRail = "railnamewith15b";

}  // namespace

void ParseTopology(const nlohmann::json* value, Topology& topology, JsonErrors& errors) {
  if (value == nullptr) return;
  JsonObject object(*value, "topology", errors);
  topology.unit = object.StringOr("unit", "");
  if (!topology.unit.empty() && !IsLabelValue(topology.unit)) {
    errors.Add(object.PathOf("unit"),
               DumpJson(topology.unit) +
                   " must be 1 to 63 of A-Z, a-z, 0-9, '-', '_' and '.', with a letter or digit at either end: "
                   "it becomes the value of a label");
  }
  topology.labels = object.BoolOr("labels", false);
  topology.unit_label = object.StringOr("unit_label", topology.unit_label);
  if (!IsLabelKey(topology.unit_label)) {
    errors.Add(object.PathOf("unit_label"),
               DumpJson(topology.unit_label) + " must be the key of a label, like \"railcni.io/su\"");
  }
  topology.leaf_label = object.StringOr("leaf_label", topology.leaf_label);
  if (!IsLabelKey(topology.leaf_label + kAnyRail)) {
    errors.Add(object.PathOf("leaf_label"),
               DumpJson(topology.leaf_label) +
                   " must be the beginning of a label's key, which the rail's name ends, like "
                   "\"railcni.io/leaf-\"");
  }
  topology.tier_labels = object.StringOr("tier_labels", "");
  if (!topology.tier_labels.empty() && !IsLabelKey(topology.tier_labels + "0")) {
    errors.Add(object.PathOf("tier_labels"),
               DumpJson(topology.tier_labels) +
                   " must be \"\", or the beginning of a label's key, which the number of the tier ends, like "
                   "\"fabric.topograph.run/tier-\"");
  }
  object.RejectUnknown();
}

}  // namespace rail::config
