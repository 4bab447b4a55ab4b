#include "lib/ovs/flow_monitor.h"

#include "lib/ovs/mgmt_connection.h"

namespace rail::ovs {

Result<std::unique_ptr<FlowMonitor>> FlowMonitor::Open(const std::string& path, Deadline deadline) {
  RAIL_ASSIGN(auto connection, MgmtConnection::OpenWatched(path, deadline));
  return std::unique_ptr<FlowMonitor>(new FlowMonitor(std::move(connection)));
}

FlowMonitor::FlowMonitor(std::unique_ptr<MgmtConnection> connection) : connection_(std::move(connection)) {}
FlowMonitor::~FlowMonitor() = default;

OpenFlow& FlowMonitor::bridge() {
  return *connection_;
}

bool FlowMonitor::usable() const {
  return connection_->usable();
}

Status FlowMonitor::TakeIn() {
  return connection_->TakeIn();
}

bool FlowMonitor::told() const {
  return connection_->told();
}

int FlowMonitor::fd() const {
  return connection_->fd();
}

}  // namespace rail::ovs
