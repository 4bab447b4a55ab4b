// What BgpRepair keeps in bgpd besides announcements: the base configuration and the front end.
#include <algorithm>
#include <set>
#include <utility>

#include "lib/base/log.h"
#include "lib/engine/repair/bgp.h"
#include "lib/engine/repair/origin.h"

namespace rail::engine {
namespace {

// For how long after a change the front end may still be on its way: a session, its routes, their next hops.
constexpr std::chrono::seconds kFrontendSettles{15};

}  // namespace

// What bgpd has before raild writes to it for the first time.
Status BgpRepair::RecordOrigin(Connections& connections) {
  if (!deps_.origin) return {};
  std::vector<std::string> interfaces;
  for (const config::Rail& rail : config_.rails) interfaces.push_back(rail.bridge);
  for (const std::string& link : config_.frontend.links) interfaces.push_back(link);
  return deps_.origin->Bgp(interfaces, [&]() -> Result<frr::BaseBefore> {
    RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
    return bgp->LookBefore(interfaces, connections.CallDeadline());
  });
}

Status BgpRepair::ReadInstances() {
  RAIL_ASSIGN(const RecordPtr record, record_.Read());
  instances_ = InstancesOf(config_, *record);
  remotes_.SetInstances(instances_, deps_.now());
  return {};
}

bool BgpRepair::InstancesChanged() {
  if (config_.tenancy.mode != config::TenancyMode::kVrf) return false;
  const auto due = [&](const auto& one) { return one.second.next() && deps_.now() >= *one.second.next(); };
  // What has failed is tried again in its own time, and this with it.
  if (!backoff_.next() && std::ranges::any_of(unused_, due)) return true;
  const auto record = record_.Read();
  if (!record) return false;
  const std::vector<BgpInstance> now = InstancesOf(config_, **record);
  return !std::ranges::equal(now, instances_, {}, &BgpInstance::vrf, &BgpInstance::vrf);
}

// The default instance comes first: it brings the maps and lists of all.
Status BgpRepair::BgpBase(Connections& connections, Peers peers, Failed& failed) {
  Status whole;
  for (const BgpInstance& instance : instances_) {
    const auto known = failed.find(instance.vrf);
    const Status done = known == failed.end() ? Base(connections, instance, peers) : known->second;
    if (done) continue;
    if (whole) whole = done;
    failed[instance.vrf] = done;
    if (instance.vrf.empty()) break;
  }
  return whole;
}

Status BgpRepair::Base(Connections& connections, const BgpInstance& instance, Peers peers) {
  RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
  if (instance.vrf.empty()) RAIL_TRY(RecordOrigin(connections));
  frr::BaseConfig base{.router_id = config_.bgp.router_id,
                       .rails = {},
                       .max_prefixes = config_.bgp.max_prefixes,
                       .frontend = config_.frontend.on()};
  if (const auto mark = Mark()) base.cluster = tenancy::ClusterCommunity(config_.bgp.community_asn, *mark);
  if (peers == Peers::kAll) base.rails = instance.peers;
  RAIL_ASSIGN(const std::vector<std::string> sent,
              bgp->Instance(instance.vrf).EnsureBase(base, connections.CallDeadline()));
  if (!sent.empty()) {
    log::Info("bgpd: {} lines of the base configuration sent{}{}", sent.size(),
              instance.vrf.empty() ? "" : " for VRF ", instance.vrf);
  }
  if (stood_.contains(instance.vrf)) node_status_.Repaired("bgp configuration", sent.size());
  if (peers == Peers::kAll) stood_.insert(instance.vrf);
  mended_ = mended_ || !sent.empty();
  return {};
}

// Instances of rails or modes that node.json had before go at once.
Status BgpRepair::RemoveUnused(Connections& connections) {
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
    for (const BgpInstance& instance : instances_) {
      if (instance.rail == &rail) present.insert(instance.tenant.vlan);
    }
    for (const uint16_t vlan : unused_[rail.name].Due(there, present, deps_.now())) {
      // A pod that comes just now waits for it, or has written its record by now.
      auto nobody_joins = connections.LockTenants(rail.name, FileLock::Kind::kAlone);
      if (!nobody_joins) continue;
      RAIL_ASSIGN(const RecordPtr record, record_.Read());
      const auto has = VlansPresent(config_, *record, rail);
      if (std::ranges::find(has, vlan, &TenantVlan::vlan) != has.end()) continue;
      const Status gone = RemoveInstance(connections, *bgp, VrfName(rail, vlan));
      if (whole && !gone) whole = gone;
    }
  }
  for (const std::string& vrf : nobodys) {
    const Status gone = RemoveInstance(connections, *bgp, vrf);
    if (whole && !gone) whole = gone;
  }
  return whole;
}

Status BgpRepair::RemoveInstance(Connections& connections, frr::Bgp& bgp, const std::string& vrf) {
  RAIL_TRY(bgp.RemoveInstance(vrf, connections.CallDeadline()));
  stood_.erase(vrf);
  announced_.erase(vrf);
  log::Info("bgpd: the instance of VRF {} removed, no pod has needed it for long", vrf);
  return {};
}

void BgpRepair::FrontendBase(Connections& connections, const std::function<void(Part, const Status&)>& note) {
  size_t sent = 0;
  const bool stood = frontend_.stood();
  const Status done = [&]() -> Status {
    RAIL_TRY(RecordOrigin(connections));
    return frontend_.Ensure(connections, sent);
  }();
  if (config_.frontend.on() || !done) note(Part::kFrontend, done);
  if (stood) node_status_.Repaired("front end", sent);
  mended_ = mended_ || sent > 0;
}

void BgpRepair::LookAtFrontend(Connections& connections, bool& changed) {
  if (!config_.frontend.on()) return;
  v1::NodeInfo seen = engine::LookAtFrontend(config_, connections, sessions_);
  if (config_.bgp.manage) frontend_.MendPaths(seen, connections);
  if (seen.SerializeAsString() == seen_frontend_.SerializeAsString()) return;
  frontend_changed_ = deps_.now();
  seen_frontend_ = seen;
  changed = true;
  node_status_.SetFrontend(std::move(seen));
}

bool BgpRepair::FrontendMayChange() const {
  return config_.frontend.on() && !IsWhole(seen_frontend_) &&
         deps_.now() - frontend_changed_ < kFrontendSettles;
}

}  // namespace rail::engine
