#include "lib/engine/repair/vlans.h"

#include <algorithm>
#include <utility>

#include "lib/base/log.h"

namespace rail::engine {
namespace {

std::set<uint16_t> Present(const config::NodeConfig& config, const Record& record, const config::Rail& rail) {
  std::set<uint16_t> vlans;
  for (const TenantVlan& one : VlansPresent(config, record, rail)) vlans.insert(one.vlan);
  return vlans;
}

}  // namespace

bool VlanRepair::Covers(const config::NodeConfig& config, const Record& record) const {
  return Present(config, record, rail_) == repaired_;
}

bool VlanRepair::Concerned(const std::vector<int>& links) const {
  return std::ranges::any_of(links, [&](int link) { return links_.contains(link); });
}

std::set<uint16_t> VlanRepair::There(const std::vector<netlink::Link>& links,
                                     const std::map<std::string, ovs::Port>& ports) const {
  std::set<uint16_t> there;
  for (const netlink::Link& link : links) {
    if (const auto vlan = VlanOfVrf(rail_, link.name); vlan && IsTenantVrf(link)) there.insert(*vlan);
  }
  for (const auto& [name, port] : ports) {
    if (const auto vlan = VlanOfPort(rail_, port)) there.insert(*vlan);
  }
  return there;
}

Status VlanRepair::Repair(const config::NodeConfig& config, Connections& connections,
                          const std::map<std::string, ovs::Port>& ports, Deadline now) {
  RAIL_ASSIGN(const RecordPtr record, record_.Read());
  const std::set<uint16_t> present = Present(config, *record, rail_);
  auto seen = [&]() -> Result<std::vector<netlink::Link>> {
    RAIL_ASSIGN(netlink::Netlink * host, connections.Netlink());
    return host->ListLinks();
  }();
  if (!seen) unused_.NotSeen(now);
  RAIL_ASSIGN(const std::vector<netlink::Link> links, std::move(seen));
  Status whole, sysctls;
  const auto note = [](Status& first, const Status& status) {
    if (first && !status) first = status;
  };
  links_.clear();
  const std::set<uint16_t> stood = std::exchange(repaired_, {});
  for (const uint16_t vlan : present) {
    const auto made = EnsureTenantLink(connections, rail_, vlan);
    if (!made) {
      note(whole, tl::make_unexpected(made.error()));
      continue;
    }
    note(sysctls, made->sysctls);
    links_.insert({made->port, made->vrf});
    repaired_.insert(vlan);
    if (!made->changed) continue;
    log::Info("rail {}: VRF {} and port {} made for VLAN {}", rail_.name, VrfName(rail_, vlan),
              VlanPortName(rail_, vlan), vlan);
    if (stood.contains(vlan)) node_status_.Repaired("tenant link");
  }
  const std::set<uint16_t> there = There(links, ports);
  // Node.json without the mode is a node that nobody's pods used it on (raild refuses the change otherwise).
  const bool by_tenant = config.tenancy.mode == config::TenancyMode::kVrf;
  const std::vector<uint16_t> due = unused_.Due(there, present, now);
  for (const uint16_t vlan : by_tenant ? due : std::vector<uint16_t>(there.begin(), there.end()))
    note(whole, Remove(config, connections, vlan));
  const PartId part(Part::kVlanSysctls, rail_.name);
  if (!present.empty() || node_status_.Knows(part)) node_status_.Note(part, sysctls);
  return whole;
}

// A pod that comes just now has written its record by now, or waits for the lock.
Status VlanRepair::Remove(const config::NodeConfig& config, Connections& connections, uint16_t vlan) {
  auto nobody_joins = connections.LockTenants(rail_.name, FileLock::Kind::kAlone);
  if (!nobody_joins) return {};
  RAIL_ASSIGN(const RecordPtr record, record_.Read());
  if (Present(config, *record, rail_).contains(vlan)) return {};
  RAIL_TRY(RemoveTenantLink(connections, rail_, vlan));
  log::Info("rail {}: VRF {} and port {} removed, no pod has needed them for long", rail_.name,
            VrfName(rail_, vlan), VlanPortName(rail_, vlan));
  return {};
}

}  // namespace rail::engine
