// The effect of frr-provider.
#include <algorithm>
#include <iterator>

#include "lib/base/strict_json.h"
#include "lib/engine/attach/attachment.h"
#include "lib/engine/attach/tenant_link.h"

#include <nlohmann/json.hpp>

namespace rail::engine {

using state::Attachment;

namespace {

// An earlier ADD may have died between the port and its rules, so the switch is asked whether or not the port is new.
Status AdmitVlan(Node& node, const config::Rail& rail, const pipeline::VlanPort& port) {
  RAIL_ASSIGN(const pipeline::BridgeFacts facts, Facts(node, rail));
  RAIL_ASSIGN(ovs::OpenFlow * switch_, node.connections.OpenFlow(rail.bridge));
  std::vector<ovs::Rule> have;
  RAIL_TRY(switch_->ForEach(
      ovs::CookieMatch::Exact(ovs::CookieKind::kPipeline, port.vlan),
      [&](const ovs::RuleStats& stats) { have.push_back(stats.rule); }, node.connections.CallDeadline()));
  const ovs::Change change = ovs::Difference(have, pipeline::VlanRules(facts, port));
  if (change.empty()) return {};
  return switch_->Commit(change, node.connections.CallDeadline());
}

// The VRF, the port and the instance of the attachment's tenant on the rail. A pod needs no daemon, so an ADD makes what is missing as
// raild does. What raild cannot have seen yet are the rules that let the new port speak with the leaf.
Status EnsureTenant(Node& node, const config::Rail& rail, const Attachment& attachment,
                    const Announcer& announcer) {
  // Held against raild's removal of what has had no pod for long.
  RAIL_ASSIGN(const FileLock stays, node.connections.LockTenants(rail.name, FileLock::Kind::kShared));
  RAIL_ASSIGN(const TenantLink link, EnsureTenantLink(node.connections, rail, announcer.vlan));
  RAIL_TRY(AdmitVlan(node, rail, {announcer.vlan, link.ofport, {}}));
  std::vector<frr::Announcement> announcements;
  RAIL_ASSIGN(const std::vector<Attachment> all, node.store.List());
  for (const Attachment& other : all) {
    if (other.rail != rail.name || other.tenant_id != attachment.tenant_id || !other.announced ||
        other.phase == state::Phase::kDeleting)
      continue;
    std::ranges::move(AnnouncementsOf(other, rail), std::back_inserter(announcements));
  }
  RAIL_ASSIGN(frr::Bgp * bgp, node.connections.Bgp());
  bgp->ReadOnce(true);
  const Status made_whole = EnsureTenantInstance(*bgp, node.config, rail, announcer.vlan, announcements,
                                                 node.connections.CallDeadline());
  bgp->ReadOnce(false);
  return made_whole;
}

}  // namespace

Status NobodyElseHas(Node& node, const Attachment& attachment, const std::string& vrf) {
  const auto ask = [&](const IpAddress& address) -> Result<std::optional<std::string>> {
    RAIL_ASSIGN(frr::Bgp * bgp, node.connections.Bgp());
    return bgp->Instance(vrf).AnnouncedElsewhere(address, node.connections.CallDeadline());
  };
  for (const IpAddress& address : attachment.addresses) {
    const auto elsewhere = ask(address);
    if (!elsewhere && node.config.tenancy.mode == config::TenancyMode::kOff) return {};
    if (!elsewhere) return tl::make_unexpected(elsewhere.error());
    if (!*elsewhere) continue;
    return Fail(
        Code::kBusy,
        "IPAM gave " + address.ToString() + ", which another node announces already (AS path " + **elsewhere +
            "): the pod that has it keeps it; give each address once in the " +
            "cluster (does a network of another namespace or cluster have the same range?). If that pod " +
            "is being deleted, the next try succeeds");
  }
  return {};
}

Status Announce(Node& node, Attachment& attachment) {
  RAIL_ASSIGN(const config::Rail* rail, RailOf(node.config, attachment.rail));
  RAIL_ASSIGN(const Announcer announcer, AnnouncerOf(node.config, *rail, attachment.tenant));
  RAIL_TRY(RecordStep(
      node, attachment, kFrrProvider, step::kAnnounce,
      announcer.vrf.empty() ? "{}" : DumpJson({{"vrf", announcer.vrf}, {"tenant", attachment.tenant}})));
  RAIL_ASSIGN(frr::Bgp * bgpd, node.connections.Bgp());
  frr::Bgp* bgp = &bgpd->Instance(announcer.vrf);
  if (announcer.vlan != config::kNoVlan) RAIL_TRY(EnsureTenant(node, *rail, attachment, announcer));
  RAIL_TRY(NobodyElseHas(node, attachment, announcer.vrf));
  const auto announce = [&]() -> Status {
    return bgp->AnnounceAll(AnnouncementsOf(attachment, *rail), node.connections.CallDeadline());
  };
  RAIL_TRY(announce());
  // From now on raild announces the addresses again when bgpd has lost them, or when the pod moves to another tenant.
  attachment.announced = true;
  RAIL_TRY(node.store.SetAnnounced(attachment.id, true));
  // It may have moved before: then raild saw nothing to announce.
  RAIL_ASSIGN(const auto now, node.store.Find(attachment.key));
  if (!now || now->id != attachment.id || now->tenant_id == attachment.tenant_id) return {};
  attachment.tenant = now->tenant;
  attachment.tenant_id = now->tenant_id;
  return announce();
}

}  // namespace rail::engine
