#include "lib/engine/repair/bgp_instances.h"

#include <algorithm>

#include "lib/base/log.h"
#include "lib/engine/repair/origin.h"

namespace rail::engine {

BgpInstances::BgpInstances(const config::NodeConfig& config, const Deps& deps, RecordReader& record,
                           NodeStatus& node_status)
    : config_(config),
      deps_(deps),
      record_(record),
      node_status_(node_status),
      all_(InstancesOf(config, Record())) {}

Status BgpInstances::Read() {
  RAIL_ASSIGN(const RecordPtr record, record_.Read());
  all_ = InstancesOf(config_, *record);
  return {};
}

bool BgpInstances::Has(const std::string& vrf) const {
  return std::ranges::find(all_, vrf, &BgpInstance::vrf) != all_.end();
}

const BgpInstance* BgpInstances::InstanceOf(const std::string& interface) const {
  for (const BgpInstance& instance : all_) {
    if (std::ranges::find(instance.peers, interface, &frr::RailPeer::interface) != instance.peers.end())
      return &instance;
  }
  return nullptr;
}

std::string BgpInstances::VrfOf(const std::string& interface) const {
  const BgpInstance* instance = InstanceOf(interface);
  return instance == nullptr ? "" : instance->vrf;
}

bool BgpInstances::Changed() {
  const auto record = record_.Read();
  if (!record) return false;
  return !std::ranges::equal(InstancesOf(config_, **record), all_, {}, &BgpInstance::vrf, &BgpInstance::vrf);
}

bool BgpInstances::UnusedIsDue() const {
  return std::ranges::any_of(
      unused_, [&](const auto& one) { return one.second.next() && deps_.now() >= *one.second.next(); });
}

Status BgpInstances::Ensure(Connections& connections, Peers peers, FailedInstances& failed, size_t& sent) {
  Status whole;
  for (const BgpInstance& instance : all_) {
    const auto known = failed.find(instance.vrf);
    const Status done = known == failed.end() ? Base(connections, instance, peers, sent) : known->second;
    if (done) continue;
    if (whole) whole = done;
    failed[instance.vrf] = done;
    if (instance.vrf.empty()) break;
  }
  return whole;
}

Status BgpInstances::Base(Connections& connections, const BgpInstance& instance, Peers peers, size_t& sent) {
  RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
  if (instance.vrf.empty()) RAIL_TRY(RecordOrigin(connections));
  frr::BaseConfig base{.router_id = config_.bgp.router_id,
                       .rails = {},
                       .max_prefixes = config_.bgp.max_prefixes,
                       .frontend = config_.frontend.on()};
  if (const auto mark = Mark()) base.cluster = tenancy::ClusterCommunity(config_.bgp.community_asn, *mark);
  if (peers == Peers::kAll) base.rails = instance.peers;
  RAIL_ASSIGN(const std::vector<std::string> lines,
              bgp->Instance(instance.vrf).EnsureBase(base, connections.CallDeadline()));
  if (!lines.empty()) {
    log::Info("bgpd: {} lines of the base configuration sent{}{}", lines.size(),
              instance.vrf.empty() ? "" : " for VRF ", instance.vrf);
  }
  if (stood_.contains(instance.vrf)) node_status_.Repaired("bgp configuration", lines.size());
  if (peers == Peers::kAll) stood_.insert(instance.vrf);
  sent += lines.size();
  return {};
}

Status BgpInstances::RemoveUnused(Connections& connections) {
  RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
  RAIL_ASSIGN(const std::vector<std::string> ours, bgp->OurInstances(connections.CallDeadline()));
  const bool by_tenant = config_.tenancy.mode == config::TenancyMode::kVrf;
  std::set<std::string> nobodys(ours.begin(), ours.end());
  Status whole;
  for (const config::Rail& rail : config_.rails) {
    std::set<uint16_t> there, present;
    for (const std::string& vrf : ours) {
      const auto vlan = by_tenant ? VlanOfVrf(rail, vrf) : std::nullopt;
      if (!vlan) continue;
      there.insert(*vlan);
      nobodys.erase(vrf);
    }
    for (const BgpInstance& instance : all_) {
      if (instance.rail == &rail) present.insert(instance.tenant.vlan);
    }
    for (const uint16_t vlan : unused_[rail.name].Due(there, present, deps_.now())) {
      // A pod that comes just now waits for it, or has written its record by now.
      auto nobody_joins = connections.LockTenants(rail.name, FileLock::Kind::kAlone);
      if (!nobody_joins) continue;
      RAIL_ASSIGN(const RecordPtr record, record_.Read());
      const auto has = VlansPresent(config_, *record, rail);
      if (std::ranges::find(has, vlan, &TenantVlan::vlan) != has.end()) continue;
      const Status gone = Remove(connections, *bgp, VrfName(rail, vlan));
      if (whole && !gone) whole = gone;
    }
  }
  for (const std::string& vrf : nobodys) {
    const Status gone = Remove(connections, *bgp, vrf);
    if (whole && !gone) whole = gone;
  }
  return whole;
}

Status BgpInstances::Remove(Connections& connections, frr::Bgp& bgp, const std::string& vrf) {
  RAIL_TRY(bgp.RemoveInstance(vrf, connections.CallDeadline()));
  stood_.erase(vrf);
  log::Info("bgpd: the instance of VRF {} removed, no pod has needed it for long", vrf);
  return {};
}

Status BgpInstances::RecordOrigin(Connections& connections) const {
  if (!deps_.origin) return {};
  std::vector<std::string> interfaces;
  for (const config::Rail& rail : config_.rails) interfaces.push_back(rail.bridge);
  for (const std::string& link : config_.frontend.links) interfaces.push_back(link);
  return deps_.origin->Bgp(interfaces, [&]() -> Result<frr::BaseBefore> {
    RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
    return bgp->LookBefore(interfaces, connections.CallDeadline());
  });
}

std::optional<tenancy::ClusterMark> BgpInstances::Mark() const {
  if (!config_.kubernetes.tenants || config_.tenancy.mode != config::TenancyMode::kNamespace)
    return std::nullopt;
  return tenancy::MarkOf(deps_.tenants());
}

}  // namespace rail::engine
