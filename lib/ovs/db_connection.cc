#include "lib/ovs/db_connection.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/strict_json.h"
#include "lib/base/text.h"
#include "lib/base/timing.h"
#include "lib/ovs/db_observed.h"
#include "lib/ovs/db_operations.h"
#include "lib/ovs/db_values.h"

namespace rail::ovs {
namespace {

using nlohmann::json;

constexpr int64_t kLocalOfport = 65534;

// An empty value in `some` stands for a key that is not in `all`.
bool Contains(const ExternalIds& all, const ExternalIds& some) {
  return std::ranges::all_of(some, [&](const auto& entry) {
    const auto it = all.find(entry.first);
    if (entry.second.empty()) return it == all.end();
    return it != all.end() && it->second == entry.second;
  });
}

bool HasAll(const ExternalIds& all, const ExternalIds& some) {
  return std::ranges::all_of(some, [&](const auto& entry) {
    const auto it = all.find(entry.first);
    return it != all.end() && it->second == entry.second;
  });
}

// Of the answer to a select; null unless it is one row.
json OnlyRow(const json& selected) {
  const bool one = selected.is_object() && selected.contains("rows") && selected["rows"].is_array() &&
                   selected["rows"].size() == 1;
  return one ? selected["rows"][0] : json();
}

// The bridge's.
ExternalIds OtherConfigOf(const BridgeSpec& spec) {
  ExternalIds config = {{"disable-in-band", kNoInBand}};
  if (!spec.hwaddr.empty()) config["hwaddr"] = spec.hwaddr;
  return config;
}

// Appends the operations that make a port. Returns the named UUID of its row.
std::string InsertPort(json& operations, const PortSpec& spec, const char* type) {
  const std::string id = std::to_string(operations.size());
  json interface = {{"name", spec.name}, {"type", type}};
  if (!spec.mac.empty()) interface["mac"] = spec.mac;
  if (spec.mtu != 0) interface["mtu_request"] = spec.mtu;
  if (spec.ofport_request) interface["ofport_request"] = *spec.ofport_request;
  operations.push_back(Insert("Interface", "interface" + id, std::move(interface)));
  operations.push_back(Insert("Port", "port" + id,
                              {{"name", spec.name},
                               {"interfaces", DbNamedUuid("interface" + id)},
                               {"external_ids", DbMap(spec.external_ids)}}));
  return "port" + id;
}

// Makes Flow_Table rows. Returns the entries of Bridge.flow_tables that name them.
json InsertFlowTables(json& operations, const std::map<int64_t, std::vector<std::string>>& prefixes) {
  json entries = json::array();
  for (const auto& [table, fields] : prefixes) {
    const std::string uuid = "flow_table" + std::to_string(table);
    operations.push_back(Insert("Flow_Table", uuid, {{"prefixes", DbStrings(fields)}}));
    entries.push_back(json::array({table, DbNamedUuid(uuid)}));
  }
  return json::array({"map", std::move(entries)});
}

// Whether another port of the bridge than `but` has the number.
bool HasPortNumber(const Observed& seen, const Observed::BridgeRow& bridge, int64_t number,
                   const std::string& but) {
  return std::ranges::any_of(seen.ports, [&](const auto& port) {
    const auto interface = seen.interfaces.find(port.first);
    return port.first != but && interface != seen.interfaces.end() && interface->second.ofport == number &&
           std::ranges::find(bridge.ports, port.second.uuid) != bridge.ports.end();
  });
}

void RepairPrefixes(json& operations, const Observed& seen, const Observed::BridgeRow& bridge,
                    const std::map<int64_t, std::vector<std::string>>& prefixes) {
  std::map<int64_t, std::vector<std::string>> missing;
  for (const auto& [table, fields] : prefixes) {
    const auto row = bridge.flow_tables.find(table);
    if (row == bridge.flow_tables.end()) {
      missing[table] = fields;
    } else if (const auto it = seen.prefixes.find(row->second);
               it == seen.prefixes.end() || it->second != fields) {
      operations.push_back(Update("Flow_Table", UuidIs(row->second), {{"prefixes", DbStrings(fields)}}));
    }
  }
  if (missing.empty()) return;
  json entries = InsertFlowTables(operations, missing);
  operations.push_back(Mutate("Bridge", UuidIs(bridge.uuid), "flow_tables", "insert", std::move(entries)));
}

// Ports that are neither the bridge's own nor its uplink.
std::string PortsOfOthers(const Observed& seen, const Observed::BridgeRow& bridge,
                          const std::string& uplink) {
  std::string names;
  for (const auto& [name, port] : seen.ports) {
    if (name == bridge.name || name == uplink) continue;
    if (std::ranges::find(bridge.ports, port.uuid) != bridge.ports.end()) Append(names, ", ", name);
  }
  return names;
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

}  // namespace

Result<std::unique_ptr<Ovsdb>> DbConnection::Open(const std::string& path, Deadline deadline) {
  const Timed timed(Part::kOvsdb);
  RAIL_ASSIGN(const std::string socket, DbSocketPath(path));
  RAIL_ASSIGN(auto rpc, RpcConnection::Connect(socket, deadline));
  return std::unique_ptr<Ovsdb>(new DbConnection(std::move(rpc)));
}

Result<json> DbConnection::Transact(const json& operations, Deadline deadline) {
  const Timed timed(Part::kOvsdb);
  json params = json::array({"Open_vSwitch"});
  params.insert(params.end(), operations.begin(), operations.end());
  const uint64_t id = rpc_.Queue("transact", params);
  for (;;) {
    RAIL_ASSIGN(const RpcMessage message, rpc_.Receive(deadline));
    if (message.method == "update") RAIL_TRY(TakeUpdate(message.body));
    if (message.id != id) continue;
    if (message.type == RpcMessage::Type::kError)
      return Fail(Code::kInternal, rpc_.path() + " refuses: " + message.body);
    RAIL_ASSIGN_AS(json results, ParseJson(message.body, {.max_bytes = message.body.size()}), rpc_.path());
    if (!results.is_array())
      return Fail(Code::kInternal, rpc_.path() + ": the answer to a transaction is not a list");
    for (const json& result : results) {
      if (!result.is_object() || !result.contains("error")) continue;
      const json& error = result["error"];
      if (error == "timed out") return Fail(Code::kBusy, "the database changed in between");
      const std::string details = result.contains("details") ? ": " + DumpJson(result["details"]) : "";
      return Fail(error == "constraint violation" ? Code::kInvalid : Code::kInternal,
                  rpc_.path() + " refuses: " + DumpJson(error) + details);
    }
    if (results.size() < operations.size())
      return Fail(Code::kInternal, rpc_.path() + ": an answer is missing");
    return results;
  }
}

Status DbConnection::Apply(json operations, Wait wait, Deadline deadline) {
  operations.push_back(Mutate("Open_vSwitch", json::array(), "next_cfg", "+=", 1));
  if (wait == Wait::kClosed) return TransactAndWait(std::move(operations), deadline);
  RAIL_TRY(Transact(operations, deadline));
  return {};
}

Status DbConnection::TransactAndWait(json operations, Deadline deadline) {
  if (!monitored_) {
    // Sent in the same write as the transaction, so it costs no round trip.
    rpc_.Queue("monitor", {"Open_vSwitch", "config", {{"Open_vSwitch", {{"columns", {"cur_cfg"}}}}}});
    monitored_ = true;
  }
  operations.push_back(DbSelect("Open_vSwitch", json::array(), {"next_cfg", "cur_cfg"}));
  RAIL_ASSIGN(const json results, Transact(operations, deadline));
  JsonErrors errors;
  const json found = OnlyRow(results[operations.size() - 1]);
  DbRow row(found, "Open_vSwitch", errors);
  const auto config = row.Integer("next_cfg");
  current_ = row.Integer("cur_cfg").value_or(current_);  // updates report later changes
  RAIL_TRY(errors.ToStatus(rpc_.path()));
  return WaitForVswitchd(config.value_or(0), deadline);
}

Status DbConnection::WaitForVswitchd(int64_t config, Deadline deadline) {
  const Timed timed(Part::kOvsdb);
  while (current_ < config) {
    auto message = rpc_.Receive(deadline);
    if (!message) return FailWrapped(message.error(), "wait until ovs-vswitchd has done it (is it running?)");
    if (message->method == "update") RAIL_TRY(TakeUpdate(message->body));
  }
  return {};
}

Status DbConnection::TakeUpdate(const std::string& body) {
  RAIL_ASSIGN_AS(const json update, ParseJson(body, {.max_bytes = body.size()}), rpc_.path());
  if (!update.is_array() || update.size() != 2 || !update[1].is_object() ||
      !update[1].contains("Open_vSwitch") || !update[1]["Open_vSwitch"].is_object()) {
    return Fail(Code::kInternal, rpc_.path() + ": an update of another table than was asked for");
  }
  JsonErrors errors;
  for (const auto& [uuid, row] : update[1]["Open_vSwitch"].items()) {
    if (!row.is_object() || !row.contains("new")) continue;
    if (const auto current = DbRow(row["new"], "Open_vSwitch", errors).Integer("cur_cfg"))
      current_ = *current;
  }
  return errors.ToStatus(rpc_.path());
}

Result<Observed> DbConnection::Observe(const std::string& only, Deadline deadline) {
  const Timed timed(Part::kOvsdb);
  RAIL_ASSIGN(const json results, Transact(Observed::Select(only), deadline));
  return Observed::Read(results, rpc_.path());
}

Result<std::optional<Bridge>> DbConnection::FindBridge(const std::string& name, Deadline deadline) {
  RAIL_ASSIGN_AS(const Observed seen, Observe("", deadline), "find bridge " + name);
  const auto it = seen.bridges.find(name);
  if (it == seen.bridges.end()) return std::optional<Bridge>();
  return seen.MakeBridge(it->second);
}

Result<std::vector<Bridge>> DbConnection::BridgesWith(const std::string& key, Deadline deadline) {
  RAIL_ASSIGN_AS(const Observed seen, Observe("", deadline), "find the bridges with " + key);
  std::vector<Bridge> found;
  for (const auto& [name, bridge] : seen.bridges) {
    if (bridge.external_ids.contains(key)) found.push_back(seen.MakeBridge(bridge));
  }
  return found;
}

Result<bool> DbConnection::DeleteBridge(const std::string& name, const ExternalIds& owner,
                                        const std::string& uplink, Deadline deadline) {
  const std::string doing = "remove bridge " + name;
  for (;;) {
    RAIL_ASSIGN_AS(const Observed seen, Observe("", deadline), doing);
    const auto it = seen.bridges.find(name);
    if (it == seen.bridges.end() || !HasAll(it->second.external_ids, owner)) return false;
    const Observed::BridgeRow& row = it->second;
    const std::string others = PortsOfOthers(seen, row, uplink);
    if (!others.empty()) {
      return Fail(Code::kBusy, doing + ": it has ports of others: " + others +
                                   "; remove them (`ovs-vsctl del-port`), then try again");
    }
    const auto applied =
        Apply(json::array({WaitForNames("Bridge", UuidIs(row.uuid), {name}), WaitForPorts(row),
                           Mutate("Open_vSwitch", json::array(), "bridges", "delete", DbUuid(row.uuid))}),
              Wait::kClosed, deadline);
    if (applied) return true;
    if (applied.error().code != Code::kBusy) return FailWrapped(applied.error(), doing);
    if (Clock::now() >= deadline)
      return Fail(Code::kTransient, doing + ": others change the database all the time");
  }
}

Status DbConnection::UnmarkBridge(const std::string& bridge, const std::vector<std::string>& keys,
                                  Deadline deadline) {
  RAIL_TRY_AS(
      Transact(json::array({Mutate("Bridge", DbNameIs(bridge), "external_ids", "delete", DbStrings(keys))}),
               deadline),
      "remove external_ids of bridge " + bridge);
  return {};
}

Result<std::optional<Port>> DbConnection::FindPort(const std::string& name, Deadline deadline) {
  RAIL_ASSIGN_AS(const Observed seen, Observe(name, deadline), "find port " + name);
  const auto* row = seen.FindPort(name);
  const auto* bridge = row == nullptr ? nullptr : seen.BridgeOf(*row);
  if (bridge == nullptr) return std::optional<Port>();
  return seen.MakePort(*bridge, *row);
}

Result<Port> DbConnection::AddPort(const PortSpec& spec, Deadline deadline) {
  const std::string doing = "add port " + spec.name + " to bridge " + spec.bridge;
  bool made = true;
  json operations = json::array({WaitForNames("Bridge", DbNameIs(spec.bridge), {spec.bridge}),
                                 WaitForNames("Port", DbNameIs(spec.name), {})});
  const std::string port = InsertPort(operations, spec, spec.internal ? "internal" : "");
  operations.push_back(Mutate("Bridge", DbNameIs(spec.bridge), "ports", "insert", DbNamedUuid(port)));
  for (;;) {
    auto applied = Apply(operations, Wait::kClosed, deadline);
    if (applied) break;
    if (applied.error().code != Code::kBusy) return FailWrapped(applied.error(), doing);

    RAIL_ASSIGN_AS(const Observed seen, Observe(spec.name, deadline), doing);
    if (!seen.bridges.contains(spec.bridge))
      return Fail(Code::kNotFound, doing + ": there is no such bridge");
    const auto* row = seen.FindPort(spec.name);
    if (row != nullptr) {
      const auto* bridge = seen.BridgeOf(*row);
      if (bridge != nullptr && bridge->name != spec.bridge) {
        return Fail(Code::kExists, doing + ": it is a port of bridge " + bridge->name + " already");
      }
      if (IsAnothers(row->external_ids, spec))
        return Fail(Code::kExists, doing + ": it is there already, and another's (" + spec.owner_key + "=" +
                                       row->external_ids.at(spec.owner_key) + ")");
      made = false;
      json adopt = json::array({WaitForNames("Port", UuidIs(row->uuid), {spec.name})});
      if (!spec.external_ids.empty()) {
        adopt.push_back(Mutate("Port", UuidIs(row->uuid), PutInto("external_ids", spec.external_ids)));
      }
      applied = Apply(std::move(adopt), Wait::kClosed, deadline);
      if (applied) break;
      if (applied.error().code != Code::kBusy) return FailWrapped(applied.error(), doing);
      made = true;
    }
    if (Clock::now() >= deadline)
      return Fail(Code::kTransient, doing + ": others change the database all the time");
  }

  RAIL_ASSIGN_AS(const Observed seen, Observe(spec.name, deadline), doing);
  const auto* row = seen.FindPort(spec.name);
  const auto* bridge = row == nullptr ? nullptr : seen.BridgeOf(*row);
  if (bridge == nullptr) return Fail(Code::kTransient, doing + ": another process has removed it again");
  Port added = seen.MakePort(*bridge, *row);
  if (added.ofport > 0) return added;
  if (made)
    RAIL_TRY_AS(RemoveUnopened(spec.name, deadline),
                doing + ": Open vSwitch could not open it; then, to remove it again");
  return Fail(Code::kInvalid,
              doing + ": Open vSwitch could not open it: " +
                  (added.error.empty() ? "no reason given; see the log of ovs-vswitchd" : added.error));
}

Status DbConnection::RemoveUnopened(const std::string& name, Deadline deadline) {
  RAIL_ASSIGN(const Observed seen, Observe(name, deadline));
  const auto* row = seen.FindPort(name);
  const auto* bridge = row == nullptr ? nullptr : seen.BridgeOf(*row);
  if (bridge == nullptr) return {};
  return Apply(json::array({Mutate("Bridge", UuidIs(bridge->uuid), "ports", "delete", DbUuid(row->uuid))}),
               Wait::kCommitted, deadline);
}

Status DbConnection::DeletePort(const std::string& bridge, const std::string& name, const ExternalIds& owner,
                                Wait wait, Deadline deadline) {
  const std::string doing = "remove port " + name + " from bridge " + bridge;
  for (;;) {
    RAIL_ASSIGN_AS(const Observed seen, Observe(name, deadline), doing);
    const auto* row = seen.FindPort(name);
    const auto* on = row == nullptr ? nullptr : seen.BridgeOf(*row);
    if (on == nullptr || on->name != bridge || !Contains(row->external_ids, owner)) return {};

    json still = UuidIs(row->uuid);
    if (!owner.empty()) still.push_back(json::array({"external_ids", "==", DbMap(row->external_ids)}));
    const auto applied =
        Apply(json::array({WaitForNames("Port", still, {name}),
                           Mutate("Bridge", UuidIs(on->uuid), "ports", "delete", DbUuid(row->uuid))}),
              wait, deadline);
    if (applied) return {};
    if (applied.error().code != Code::kBusy) return FailWrapped(applied.error(), doing);
    if (Clock::now() >= deadline)
      return Fail(Code::kTransient, doing + ": others change the database all the time");
  }
}

Status DbConnection::SetExternalIds(const std::string& port, const ExternalIds& ids, Deadline deadline) {
  const std::string doing = "set external_ids of port " + port;
  const auto results = Transact(json::array({WaitForNames("Port", DbNameIs(port), {port}),
                                             Mutate("Port", DbNameIs(port), PutInto("external_ids", ids))}),
                                deadline);
  if (results) return {};
  if (results.error().code == Code::kBusy) return Fail(Code::kNotFound, doing + ": there is no such port");
  return FailWrapped(results.error(), doing);
}

Status DbConnection::RemoveExternalIds(const std::string& port, const std::vector<std::string>& keys,
                                       Deadline deadline) {
  RAIL_TRY_AS(
      Transact(json::array({Mutate("Port", DbNameIs(port), "external_ids", "delete", DbStrings(keys))}),
               deadline),
      "remove external_ids of port " + port);
  return {};
}

Result<ExternalIds> DbConnection::OtherConfig(Deadline deadline) {
  RAIL_ASSIGN_AS(const json results,
                 Transact(json::array({DbSelect("Open_vSwitch", json::array(), {"other_config"})}), deadline),
                 "read other_config of Open vSwitch");
  JsonErrors errors;
  const json found = OnlyRow(results[0]);
  ExternalIds config = DbRow(found, "Open_vSwitch", errors).Map("other_config");
  RAIL_TRY(errors.ToStatus(rpc_.path()));
  return config;
}

Result<Bridge> DbConnection::EnsureBridge(const BridgeSpec& spec, Deadline deadline) {
  const std::string doing = "set up bridge " + spec.name;
  const PortSpec local{
      .bridge = spec.name, .name = spec.name, .external_ids = {}, .mtu = spec.mtu, .ofport_request = {}};
  PortSpec uplink{
      .bridge = spec.name, .name = spec.uplink, .external_ids = {}, .mtu = spec.mtu, .ofport_request = 1};

  for (bool waited = false;;) {
    RAIL_ASSIGN_AS(const Observed seen, Observe("", deadline), doing);
    const auto it = seen.bridges.find(spec.name);
    const auto* row = it == seen.bridges.end() ? nullptr : &it->second;
    json operations = json::array();

    const auto* uplink_row = seen.FindPort(spec.uplink);
    const auto* uplink_on = uplink_row == nullptr ? nullptr : seen.BridgeOf(*uplink_row);
    if (uplink_on != nullptr && uplink_on != row) {
      return Fail(Code::kExists,
                  doing + ": its uplink " + spec.uplink + " is a port of bridge " + uplink_on->name);
    }
    // Open vSwitch would give another port another number, which its owner's rules do not know.
    if (row != nullptr && HasPortNumber(seen, *row, 1, spec.uplink)) uplink.ofport_request.reset();
    const auto mend_interface = [&](const PortSpec& want) {
      const auto interface = seen.interfaces.find(want.name);
      if (interface == seen.interfaces.end()) return;
      json columns = json::object();
      if (want.mtu != 0 && interface->second.mtu_request != int64_t{want.mtu})
        columns["mtu_request"] = want.mtu;
      if (want.ofport_request && interface->second.ofport_request != int64_t{*want.ofport_request}) {
        columns["ofport_request"] = *want.ofport_request;
      }
      if (!columns.empty())
        operations.push_back(Update("Interface", UuidIs(interface->second.uuid), std::move(columns)));
    };

    if (row == nullptr) {
      operations.push_back(WaitForNames("Bridge", DbNameIs(spec.name), {}));
      const std::string local_uuid = InsertPort(operations, local, "internal");
      const std::string uplink_uuid = InsertPort(operations, uplink, "");
      json columns = {
          {"name", spec.name},
          {"datapath_type", spec.datapath},
          {"fail_mode", "secure"},
          {"external_ids", DbMap(spec.external_ids)},
          {"ports", json::array({"set", json::array({DbNamedUuid(local_uuid), DbNamedUuid(uplink_uuid)})})}};
      columns["other_config"] = DbMap(OtherConfigOf(spec));
      columns["flow_tables"] = InsertFlowTables(operations, spec.prefixes);
      operations.push_back(Insert("Bridge", "bridge", std::move(columns)));
      operations.push_back(Mutate("Open_vSwitch", json::array(), "bridges", "insert", DbNamedUuid("bridge")));
    } else {
      json columns = json::object();
      if (row->fail_mode != "secure") columns["fail_mode"] = "secure";
      if ((row->datapath.empty() ? "system" : row->datapath) != spec.datapath)
        columns["datapath_type"] = spec.datapath;
      if (!columns.empty()) operations.push_back(Update("Bridge", UuidIs(row->uuid), std::move(columns)));
      if (const ExternalIds config = OtherConfigOf(spec); !Contains(row->other_config, config))
        operations.push_back(Mutate("Bridge", UuidIs(row->uuid), PutInto("other_config", config)));
      if (!HasAll(row->external_ids, spec.external_ids)) {
        operations.push_back(Mutate("Bridge", UuidIs(row->uuid), PutInto("external_ids", spec.external_ids)));
      }
      RepairPrefixes(operations, seen, *row, spec.prefixes);
      mend_interface(local);
      if (uplink_on != nullptr) {
        mend_interface(uplink);
      } else {
        operations.push_back(WaitForNames("Port", DbNameIs(spec.uplink), {}));
        const std::string uuid = InsertPort(operations, uplink, "");
        operations.push_back(Mutate("Bridge", UuidIs(row->uuid), "ports", "insert", DbNamedUuid(uuid)));
      }
      if (!operations.empty())
        operations.insert(operations.begin(), WaitForNames("Bridge", UuidIs(row->uuid), {spec.name}));
    }

    if (operations.empty()) {
      Bridge bridge = seen.MakeBridge(*row);
      const Port uplink_port = seen.MakePort(*row, *uplink_row);
      const auto local_port = std::ranges::find(bridge.ports, spec.name, &Port::name);
      const bool local_open = local_port != bridge.ports.end() && local_port->ofport == kLocalOfport;
      if (local_open && uplink_port.ofport > 0) return bridge;
      if (waited) {
        if (!local_open) {
          return Fail(Code::kInvalid, doing + ": ovs-vswitchd did not make it (datapath \"" + spec.datapath +
                                          "\"); see the log of ovs-vswitchd");
        }
        return Fail(Code::kInvalid,
                    doing + ": Open vSwitch could not open its uplink " + spec.uplink + ": " +
                        (uplink_port.error.empty() ? "see the log of ovs-vswitchd" : uplink_port.error));
      }
    }
    // If nothing is left to write, another process may have written it and ovs-vswitchd may be about to apply it. So wait, but
    // write nothing: a write would wake everyone who watches the database, and ovs-vswitchd retries by itself what it cannot open.
    const auto applied = operations.empty() ? TransactAndWait(std::move(operations), deadline)
                                            : Apply(std::move(operations), Wait::kClosed, deadline);
    waited = applied.has_value();
    if (!applied && applied.error().code != Code::kBusy) return FailWrapped(applied.error(), doing);
    if (Clock::now() >= deadline)
      return Fail(Code::kTransient, doing + ": others change the database all the time");
  }
}

}  // namespace rail::ovs
