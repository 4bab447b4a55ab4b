#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/text.h"
#include "lib/ovs/db_connection.h"
#include "lib/ovs/db_observed.h"
#include "lib/ovs/db_operations.h"
#include "lib/ovs/db_values.h"

namespace rail::ovs {
namespace {

using nlohmann::json;

json OrEmpty(const std::optional<int64_t>& value) {
  return value ? json(*value) : json::array({"set", json::array()});
}

json OrEmpty(const std::string& value) {
  return value.empty() ? json::array({"set", json::array()}) : json(value);
}

std::optional<PortBefore> Before(const Observed& seen, const Observed::BridgeRow& bridge,
                                 const std::string& port) {
  const auto* row = seen.FindPort(port);
  if (row == nullptr || std::ranges::find(bridge.ports, row->uuid) == bridge.ports.end()) return std::nullopt;
  const auto interface = seen.interfaces.find(port);
  if (interface == seen.interfaces.end()) return PortBefore{};
  return PortBefore{interface->second.mtu_request, interface->second.ofport_request};
}

// Makes ovsdb-server refuse the transaction when the bridge has other ports by then.
json WaitForPorts(const Observed::BridgeRow& bridge) {
  json ports = json::array();
  for (const std::string& uuid : bridge.ports) ports.push_back(DbUuid(uuid));
  return {{"op", "wait"},
          {"timeout", 0},
          {"table", "Bridge"},
          {"where", UuidIs(bridge.uuid)},
          {"columns", {"ports"}},
          {"until", "=="},
          {"rows", json::array({{{"ports", json::array({"set", std::move(ports)})}}})}};
}

// Ports that are neither the bridge's own nor its uplink.
std::string PortsOfOthers(const Observed& seen, const Observed::BridgeRow& bridge,
                          const std::string& uplink) {
  std::string names;
  for (const auto& [name, port] : seen.ports) {
    if (name == bridge.name || name == uplink) continue;
    if (std::ranges::find(bridge.ports, port.uuid) == bridge.ports.end()) continue;
    Append(names, ", ", name);
  }
  return names;
}

void RestorePort(json& operations, const Observed& seen, const std::string& name,
                 const std::optional<PortBefore>& before) {
  const auto interface = seen.interfaces.find(name);
  if (!before || interface == seen.interfaces.end()) return;
  json columns = json::object();
  if (interface->second.mtu_request != before->mtu_request)
    columns["mtu_request"] = OrEmpty(before->mtu_request);
  if (interface->second.ofport_request != before->ofport_request)
    columns["ofport_request"] = OrEmpty(before->ofport_request);
  if (!columns.empty())
    operations.push_back(Update("Interface", UuidIs(interface->second.uuid), std::move(columns)));
}

void RestorePrefixes(json& operations, const Observed& seen, const Observed::BridgeRow& bridge,
                     const BridgeBefore& before, const BridgeSpec& spec) {
  json gone = json::array();
  for (const auto& [table, fields] : spec.prefixes) {
    const auto row = bridge.flow_tables.find(table);
    if (row == bridge.flow_tables.end()) continue;
    const auto was = before.prefixes.find(table);
    if (was == before.prefixes.end()) {
      gone.push_back(table);
    } else if (const auto now = seen.prefixes.find(row->second);
               now == seen.prefixes.end() || now->second != was->second) {
      operations.push_back(Update("Flow_Table", UuidIs(row->second), {{"prefixes", DbStrings(was->second)}}));
    }
  }
  if (gone.empty()) return;
  operations.push_back(
      Mutate("Bridge", UuidIs(bridge.uuid),
             json::array({json::array({"flow_tables", "delete", json::array({"set", std::move(gone)})})})));
}

void RestoreBridge(json& operations, const Observed& seen, const Observed::BridgeRow& bridge,
                   const BridgeBefore& before, const BridgeSpec& spec) {
  json columns = json::object();
  if (bridge.fail_mode != before.fail_mode) columns["fail_mode"] = OrEmpty(before.fail_mode);
  if (bridge.datapath != before.datapath) columns["datapath_type"] = before.datapath;
  if (!columns.empty()) operations.push_back(Update("Bridge", UuidIs(bridge.uuid), std::move(columns)));
  for (const auto& [key, was] : {std::pair<std::string, std::string>{"hwaddr", before.hwaddr},
                                 {"disable-in-band", before.disable_in_band}}) {
    if (bridge.OtherConfig(key) == was) continue;
    operations.push_back(Mutate("Bridge", UuidIs(bridge.uuid),
                                was.empty()
                                    ? json::array({json::array({"other_config", "delete", DbStrings({key})})})
                                    : PutInto("other_config", {{key, was}})));
  }
  std::vector<std::string> marks;
  for (const auto& [key, value] : spec.external_ids) {
    if (bridge.external_ids.contains(key)) marks.push_back(key);
  }
  if (!marks.empty()) {
    operations.push_back(Mutate("Bridge", UuidIs(bridge.uuid),
                                json::array({json::array({"external_ids", "delete", DbStrings(marks)})})));
  }
  RestorePrefixes(operations, seen, bridge, before, spec);
  RestorePort(operations, seen, before.name, before.local_port);
  RestorePort(operations, seen, before.uplink, before.uplink_port);
  const auto* uplink = seen.FindPort(before.uplink);
  if (before.uplink_port || uplink == nullptr || seen.BridgeOf(*uplink) != &bridge) return;
  operations.push_back(Mutate("Bridge", UuidIs(bridge.uuid),
                              json::array({json::array({"ports", "delete", DbUuid(uplink->uuid)})})));
}

}  // namespace

Result<BridgeBefore> DbConnection::LookBefore(const std::string& bridge, const std::string& uplink,
                                              Deadline deadline) {
  RAIL_ASSIGN_AS(const Observed seen, Observe("", deadline), "look at bridge " + bridge);
  BridgeBefore before{.name = bridge, .uplink = uplink};
  const auto it = seen.bridges.find(bridge);
  if (it == seen.bridges.end()) return before;
  const Observed::BridgeRow& row = it->second;
  before.existed = true;
  before.datapath = row.datapath;
  before.fail_mode = row.fail_mode;
  before.hwaddr = row.OtherConfig("hwaddr");
  before.disable_in_band = row.OtherConfig("disable-in-band");
  for (const auto& [table, uuid] : row.flow_tables) {
    const auto fields = seen.prefixes.find(uuid);
    before.prefixes[table] = fields == seen.prefixes.end() ? std::vector<std::string>() : fields->second;
  }
  before.local_port = Before(seen, row, bridge);
  before.uplink_port = Before(seen, row, uplink);
  return before;
}

Result<bool> DbConnection::GiveBackBridge(const BridgeBefore& before, const BridgeSpec& spec,
                                          Deadline deadline) {
  const std::string doing = "give bridge " + before.name + " back";
  for (;;) {
    RAIL_ASSIGN_AS(const Observed seen, Observe("", deadline), doing);
    const auto it = seen.bridges.find(before.name);
    if (it == seen.bridges.end()) return false;
    const Observed::BridgeRow& row = it->second;
    json operations = json::array();
    if (before.existed) {
      RestoreBridge(operations, seen, row, before, spec);
    } else {
      const std::string others = PortsOfOthers(seen, row, before.uplink);
      if (!others.empty()) {
        return Fail(Code::kBusy, doing + ": RailCNI made it, and it has ports of others: " + others +
                                     "; remove them (`ovs-vsctl del-port`), then try again");
      }
      operations.push_back(WaitForPorts(row));
      operations.push_back(Mutate("Open_vSwitch", json::array(),
                                  json::array({json::array({"bridges", "delete", DbUuid(row.uuid)})})));
    }
    if (operations.empty()) return false;
    operations.insert(operations.begin(), WaitForNames("Bridge", UuidIs(row.uuid), {before.name}));
    const auto applied = Apply(std::move(operations), Wait::kClosed, deadline);
    if (applied) return true;
    if (applied.error().code != Code::kBusy) return FailWrapped(applied.error(), doing);
    if (Clock::now() >= deadline)
      return Fail(Code::kTransient, doing + ": others change the database all the time");
  }
}

Status DbConnection::UnmarkBridge(const std::string& bridge, const std::vector<std::string>& keys,
                                  Deadline deadline) {
  RAIL_TRY_AS(
      Transact(json::array({Mutate("Bridge", DbNameIs(bridge),
                                   json::array({json::array({"external_ids", "delete", DbStrings(keys)})}))}),
               deadline),
      "remove external_ids of bridge " + bridge);
  return {};
}

}  // namespace rail::ovs
