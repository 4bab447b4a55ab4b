#include "lib/config/parse_topology.h"

#include <nlohmann/json.hpp>

#include "lib/config/parse_kubernetes.h"

namespace rail::config {

void ParseTopology(const nlohmann::json* value, Topology& topology, JsonErrors& errors) {
  if (value == nullptr) return;
  JsonObject object(*value, "topology", errors);
  topology.unit = object.StringOr("unit", "");
  if (!topology.unit.empty() && !IsLabelValue(topology.unit)) {
    errors.Add(
        object.PathOf("unit"),
        DumpJson(topology.unit) +
            " must be 1 to 63 of A-Z, a-z, 0-9, '-', '_' and '.', with a letter or digit at either end: "
            "it can be the value of a label then");
  }
  object.RejectUnknown();
}

}  // namespace rail::config
