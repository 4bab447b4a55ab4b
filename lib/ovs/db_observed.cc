#include "lib/ovs/db_observed.h"

#include <nlohmann/json.hpp>

#include "lib/ovs/db_values.h"

namespace rail::ovs {

using nlohmann::json;

json Observed::Select(const std::string& only) {
  const json which = only.empty() ? json::array() : DbNameIs(only);
  return json::array({DbSelect("Bridge", json::array(),
                               {"_uuid", "name", "datapath_type", "fail_mode", "external_ids", "other_config",
                                "ports", "flow_tables"}),
                      DbSelect("Port", which, {"_uuid", "name", "external_ids"}),
                      DbSelect("Interface", which,
                               {"_uuid", "name", "ofport", "ofport_request", "mtu_request", "error",
                                "ingress_policing_rate", "ingress_policing_kpkts_rate"}),
                      DbSelect("Flow_Table", json::array(), {"_uuid", "prefixes"})});
}

Result<Observed> Observed::Read(const json& results, const std::string& path) {
  JsonErrors errors;
  const auto each = [&](size_t i, const char* table, const auto& take) {
    if (!results[i].is_object() || !results[i].contains("rows") || !results[i]["rows"].is_array()) {
      return errors.Add(table, "has no list of rows");
    }
    for (const json& json_row : results[i]["rows"]) {
      DbRow row(json_row, table, errors);
      take(row);
    }
  };
  Observed seen;
  each(0, "Bridge", [&](DbRow& row) {
    BridgeRow bridge{row.Uuid("_uuid"),         row.Text("name"),
                     row.Text("datapath_type"), row.Text("fail_mode"),
                     row.Map("external_ids"),   row.Map("other_config"),
                     row.Uuids("ports"),        row.UuidsByNumber("flow_tables")};
    seen.bridges[bridge.name] = std::move(bridge);
  });
  each(1, "Port", [&](DbRow& row) {
    PortRow port{row.Uuid("_uuid"), row.Text("name"), row.Map("external_ids")};
    seen.ports[port.name] = std::move(port);
  });
  each(2, "Interface", [&](DbRow& row) {
    seen.interfaces[row.Text("name")] = {row.Uuid("_uuid"),
                                         row.Integer("ofport"),
                                         row.Integer("ofport_request"),
                                         row.Integer("mtu_request"),
                                         row.Text("error"),
                                         row.Integer("ingress_policing_rate").value_or(0),
                                         row.Integer("ingress_policing_kpkts_rate").value_or(0)};
  });
  each(3, "Flow_Table", [&](DbRow& row) { seen.prefixes[row.Uuid("_uuid")] = row.Strings("prefixes"); });
  RAIL_TRY(errors.ToStatus(path));
  return seen;
}

}  // namespace rail::ovs
