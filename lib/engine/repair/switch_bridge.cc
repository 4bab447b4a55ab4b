// The bridge of a rail and its links: raild makes them, and changes no bridge that it has not made.
#include "lib/engine/repair/origin.h"
#include "lib/engine/repair/switch.h"
#include "lib/netlink/netns.h"

namespace rail::engine {
namespace {

ovs::BridgeSpec SpecOf(const config::NodeConfig& config, const config::Rail& rail, const MacAddress& mac) {
  return {.name = rail.bridge,
          .datapath = config.ovs.datapath,
          .uplink = rail.pf,
          .hwaddr = mac.ToString(),
          .mtu = rail.mtu,
          .external_ids = {{kOwnerKey, rail.name}, {kUplinkKey, rail.pf}},
          .prefixes = pipeline::TrackedPrefixes()};
}

Status IsOfOthers(const config::Rail& rail) {
  return Fail(Code::kExists,
              "rail " + rail.name + ": bridge " + rail.bridge +
                  " is there and raild has not made it, so raild changes nothing of it. Remove it "
                  "if nothing needs it (`ovs-vsctl del-br " +
                  rail.bridge +
                  "`), or name another bridge in rails[].bridge, or keep it yourself: "
                  "ovs.manage_bridges false");
}

}  // namespace

Status SwitchRepair::RepairBridge(Connections& connections, const config::Rail& rail, RailState& state) {
  state.bridge_present = false;
  if (config_.ovs.manage_bridges) {
    RAIL_ASSIGN(netlink::Netlink * host, connections.Netlink());
    RAIL_ASSIGN_AS(const netlink::Link pf, host->GetLink(rail.pf), "the uplink of rail " + rail.name);
    RAIL_ASSIGN(ovs::Ovsdb * db, connections.Ovsdb());
    RAIL_ASSIGN(const auto there, db->FindBridge(rail.bridge, connections.CallDeadline()));
    state.bridge_ours = !there || state.bridge_ours || there->external_ids.contains(kOwnerKey);
    if (!state.bridge_ours) return IsOfOthers(rail);
    RAIL_ASSIGN([[maybe_unused]] const ovs::Bridge bridge,
                db->EnsureBridge(SpecOf(config_, rail, pf.mac), connections.CallDeadline()));
  }
  Node node{config_, record_.store(), connections};
  RAIL_ASSIGN(state.facts, Facts(node, rail));
  state.bridge_present = true;
  return {};
}

Status SwitchRepair::RepairHostLinks(Connections& connections, const config::Rail& rail, RailState& state) {
  RAIL_ASSIGN(netlink::Netlink * host, connections.Netlink());
  RAIL_ASSIGN_AS(const netlink::Link pf, host->GetLink(rail.pf), "the uplink of rail " + rail.name);
  RAIL_ASSIGN_AS(const netlink::Link local, host->GetLink(rail.bridge), "rail " + rail.name);
  state.uplink_link = pf.index;
  state.local_link = local.index;
  if (!config_.ovs.manage_bridges) return {};
  // Before they go up: a link that is up solicits routers at once, and takes the leaf for one.
  node_status_.Note({Part::kSysctls, rail.name}, RepairHostSysctls(rail));
  if (!pf.up) RAIL_TRY(host->SetUp(pf.index));
  if (!local.up) RAIL_TRY(host->SetUp(local.index));
  return {};
}

// LOCAL speaks IPv6 link-local to the leaf and nothing else. The uplink speaks nothing. Pods work without all this, so a
// container whose /proc/sys is read-only is reported and does not stop the rail.
Status SwitchRepair::RepairHostSysctls(const config::Rail& rail) {
  const bool stood = node_status_.WasRight({Part::kSysctls, rail.name});
  const auto ensure = [&](const std::string& link, const char* key, const char* value) -> Status {
    const std::string path = "net/ipv6/conf/" + link + "/" + key;
    RAIL_ASSIGN(const std::string now, netns::ReadSysctl(path));
    if (now == value) return {};
    RAIL_TRY(netns::WriteSysctl(path, value));
    if (stood) node_status_.Repaired("sysctl");
    return {};
  };
  // The leaf advertises itself as a router. Were it the host's default route, the rail would drop what the host sends. This
  // comes before IPv6 begins on LOCAL.
  RAIL_TRY(ensure(rail.bridge, "accept_ra", "0"));
  RAIL_TRY(ensure(rail.bridge, "disable_ipv6", "0"));
  return ensure(rail.pf, "disable_ipv6", "1");
}

bool SwitchRepair::RemovesForeignRules(const config::Rail& rail) const {
  if (config_.ovs.remove_foreign_flows) return *config_.ovs.remove_foreign_flows;
  return config_.ovs.manage_bridges && deps_.origin != nullptr && !deps_.origin->IsAdopted(rail.bridge);
}

}  // namespace rail::engine
