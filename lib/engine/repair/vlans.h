// raild's repair of what the tenants of one rail need of the kernel and of the bridge in mode `vrf`: a VRF and a port for each tenant
// that has a pod, and for some time after the last one has gone, whether or not node.json has the tenant still. Where node.json has another
// mode, all of it goes at once. What is of a rail that node.json does not have any more stays until `raild --remove`.
//
// Use:      VlanRepair vlans(rail, record, node_status);
//           RAIL_TRY(vlans.Repair(config, connections, ports.seen(), now));  if (vlans.Concerned(links)) ...  vlans.next();
// Threads:  one
// Owns:     nothing: the rail, the record and the NodeStatus must outlive it
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/engine/attach/tenant_link.h"
#include "lib/engine/repair/node_status.h"

namespace rail::engine {

class VlanRepair {
 public:
  VlanRepair(const config::Rail& rail, RecordReader& record, NodeStatus& node_status)
      : rail_(rail), record_(record), node_status_(node_status) {}

  // `ports`: of the bridge, as they were seen. Each VLAN on its own: returns the first error. Costs one list of the host's links.
  Status Repair(const config::NodeConfig& config, Connections& connections,
                const std::map<std::string, ovs::Port>& ports, Deadline now);
  // Whether tenants have come or gone since the last repair.
  bool Covers(const config::NodeConfig& config, const Record& record) const;
  // Whether one of these links (indexes) is a VRF or a port of a tenant.
  bool Concerned(const std::vector<int>& links) const;
  // When something that has no pod is to go.
  std::optional<Deadline> next() const { return unused_.next(); }

 private:
  std::set<uint16_t> There(const std::vector<netlink::Link>& links,
                           const std::map<std::string, ovs::Port>& ports) const;
  Status Remove(const config::NodeConfig& config, Connections& connections, uint16_t vlan);

  const config::Rail& rail_;
  RecordReader& record_;
  NodeStatus& node_status_;
  Unused unused_;
  std::set<uint16_t> repaired_;  // VLANs of the last repair
  std::set<int> links_;
};

}  // namespace rail::engine
