// The bridges, ports and interfaces of ovsdb-server, as one transaction has read them.
//
// Use:      Transact(Observed::Select(""), ...);  RAIL_ASSIGN(const Observed seen, Observed::Read(results, path));
// Threads:  values
// Source:   ovs-vswitchd.conf.db(5)
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/ovs/ovsdb.h"

namespace rail::ovs {

// What one transaction has read.
struct Observed {
  struct InterfaceRow {
    std::string uuid;
    std::optional<int64_t> ofport, ofport_request, mtu_request;
    std::string error;
    int64_t policed_kbit = 0, policed_kpkts = 0;
  };
  struct PortRow {
    std::string uuid, name;
    ExternalIds external_ids;
  };
  struct BridgeRow {
    std::string uuid, name, datapath, fail_mode;
    ExternalIds external_ids, other_config;
    std::vector<std::string> ports;
    std::map<int64_t, std::string> flow_tables;  // UUIDs of Flow_Table rows, by OpenFlow table

    // "": not set.
    std::string OtherConfig(const std::string& key) const {
      const auto it = other_config.find(key);
      return it == other_config.end() ? "" : it->second;
    }
  };
  std::map<std::string, BridgeRow> bridges;                  // by name
  std::map<std::string, PortRow> ports;                      // by name
  std::map<std::string, InterfaceRow> interfaces;            // by name
  std::map<std::string, std::vector<std::string>> prefixes;  // Flow_Table.prefixes by UUID, sorted

  const PortRow* FindPort(const std::string& name) const {
    const auto it = ports.find(name);
    return it == ports.end() ? nullptr : &it->second;
  }

  const BridgeRow* BridgeOf(const PortRow& port) const {
    for (const auto& [name, bridge] : bridges) {
      if (std::ranges::find(bridge.ports, port.uuid) != bridge.ports.end()) return &bridge;
    }
    return nullptr;
  }

  Port MakePort(const BridgeRow& bridge, const PortRow& row) const {
    Port port{
        .bridge = bridge.name, .name = row.name, .ofport = -1, .error = {}, .external_ids = row.external_ids};
    if (const auto it = interfaces.find(row.name); it != interfaces.end()) {
      port.ofport = it->second.ofport.value_or(-1);
      port.error = it->second.error;
      port.policed_kbit = it->second.policed_kbit;
      port.policed_kpkts = it->second.policed_kpkts;
    }
    return port;
  }

  Bridge MakeBridge(const BridgeRow& row) const {
    Bridge bridge{.name = row.name,
                  .datapath = row.datapath.empty() ? "system" : row.datapath,
                  .fail_mode = row.fail_mode,
                  .hwaddr = row.OtherConfig("hwaddr"),
                  .disable_in_band = row.OtherConfig("disable-in-band"),
                  .external_ids = row.external_ids,
                  .prefixes = {},
                  .ports = {}};
    for (const auto& [table, uuid] : row.flow_tables) {
      const auto it = prefixes.find(uuid);
      if (it != prefixes.end() && !it->second.empty()) bridge.prefixes[table] = it->second;
    }
    for (const auto& [name, port] : ports) {
      if (std::ranges::find(row.ports, port.uuid) != row.ports.end())
        bridge.ports.push_back(MakePort(row, port));
    }
    return bridge;
  }

  // The operations that read them. `only`: the name of the Port and Interface rows to read, or "" for all.
  static nlohmann::json Select(const std::string& only);
  // From the results of these. `path` is the socket's, for messages. Errors: kInternal a row is not what the schema says.
  static Result<Observed> Read(const nlohmann::json& results, const std::string& path);
};

}  // namespace rail::ovs
