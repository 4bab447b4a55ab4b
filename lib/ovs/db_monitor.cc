#include "lib/ovs/db_monitor.h"

#include <nlohmann/json.hpp>

#include "lib/ovs/db_values.h"

namespace rail::ovs {

using nlohmann::json;

Result<DbMonitor> DbMonitor::Open(const std::string& path, Deadline deadline) {
  RAIL_ASSIGN(const std::string socket, DbSocketPath(path));
  RAIL_ASSIGN(auto rpc, RpcConnection::Connect(socket, deadline));
  json tables = json::object();
  tables["Open_vSwitch"]["columns"] = {"cur_cfg"};
  tables["Bridge"]["columns"] = {"name", "ports", "fail_mode", "other_config", "external_ids", "flow_tables"};
  tables["Flow_Table"]["columns"] = {"prefixes"};
  tables["Port"]["columns"] = {"name", "external_ids", "interfaces"};
  tables["Interface"]["columns"] = {"name", "ofport", "error", "link_state", "admin_state"};
  for (auto& table : tables) table["select"] = {{"initial", false}};
  const uint64_t id = rpc.Queue("monitor", json::array({"Open_vSwitch", "changes", tables}));
  for (;;) {
    RAIL_ASSIGN_AS(const RpcMessage message, rpc.Receive(deadline), "watch " + socket);
    if (message.id != id) continue;
    if (message.type != RpcMessage::Type::kReply)
      return Fail(Code::kInternal, "watch " + socket + ": " + message.body);
    return DbMonitor(std::move(rpc));
  }
}

Result<bool> DbMonitor::Receive() {
  for (bool changed = false;;) {
    RAIL_ASSIGN_AS(const auto message, rpc_.TryReceive(), "watch the database");
    if (!message) return changed;
    changed = changed || message->method == "update";
  }
}

}  // namespace rail::ovs
