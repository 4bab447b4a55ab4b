#include "lib/engine/repair/takeover.h"

#include <algorithm>

#include "lib/engine/attach/attachment.h"
#include "lib/engine/repair/foreign_rules.h"
#include "lib/engine/repair/origin.h"
#include "lib/netns/netns.h"
#include "lib/pipeline/pipeline.h"

namespace rail::engine {
namespace {

constexpr char kSecure[] = "secure";

bool IsMarked(const ovs::Bridge& bridge) {
  return bridge.external_ids.contains(kOwnerKey);
}

// ovs-vswitchd forgets every rule of a bridge when fail_mode changes, and a secure bridge forwards nothing by itself.
Status MayTakeOver(Connections& connections, const config::Rail& rail,
                   const std::optional<ovs::Bridge>& bridge) {
  if (!bridge || bridge->fail_mode == kSecure || IsMarked(*bridge)) return {};
  std::string use;
  for (const ovs::Port& port : bridge->ports) {
    if (port.name == rail.bridge || port.name == rail.pf) continue;
    use += (use.empty() ? "it has port " : ", ") + port.name;
  }
  RAIL_ASSIGN(const uint64_t rules, RulesOfOthers(connections, rail.bridge));
  if (rules > 0) use += (use.empty() ? "it has " : " and ") + std::to_string(rules) + " rules of its own";
  if (use.empty()) return {};
  return Fail(
      Code::kExists,
      "rail " + rail.name + ": bridge " + rail.bridge + " is not fail_mode=secure and others use it (" + use +
          "): Open vSwitch would remove their rules and forward nothing for them. Name another bridge in "
          "rails[].bridge, or make it secure yourself (`ovs-vsctl set-fail-mode " +
          rail.bridge +
          " secure`) and give it rules for what they need, of which the doctor then says that they may go "
          "around "
          "the isolation (foreign-flows)");
}

Result<LinkOrigin> LookAtLink(netlink::Netlink& host, const std::string& name,
                              std::initializer_list<const char*> sysctls) {
  RAIL_ASSIGN(const netlink::Link link, host.GetLink(name));
  LinkOrigin origin{.up = link.up, .mtu = link.mtu};
  RAIL_ASSIGN(const std::vector<netlink::Address> addresses, host.ListAddresses(link.index));
  for (const netlink::Address& address : addresses) {
    if (address.prefix.address.is_v6() && !address.prefix.address.is_link_local() && !address.dynamic)
      origin.addresses.push_back(address.prefix);
  }
  for (const char* key : sysctls) {
    const std::string path = "net/ipv6/conf/" + name + "/" + key;
    const auto value = netns::ReadSysctl(path);
    if (value) origin.sysctls[path] = *value;  // what cannot be read cannot be written either
  }
  return origin;
}

// A bridge that has our mark before there is a record is of a version that kept none.
Result<BridgeOrigin> LookAt(Connections& connections, const config::Rail& rail,
                            const std::optional<ovs::Bridge>& bridge) {
  BridgeOrigin origin{.known = !bridge || !IsMarked(*bridge), .rail = rail.name};
  RAIL_ASSIGN(ovs::Ovsdb * db, connections.Ovsdb());
  RAIL_ASSIGN(origin.before, db->LookBefore(rail.bridge, rail.pf, connections.CallDeadline()));
  RAIL_ASSIGN(netlink::Netlink * host, connections.Netlink());
  RAIL_ASSIGN_AS(origin.uplink, LookAtLink(*host, rail.pf, {"disable_ipv6"}),
                 "the uplink of rail " + rail.name);
  if (!origin.before.existed) return origin;
  auto local = LookAtLink(*host, rail.bridge, {"accept_ra", "disable_ipv6"});
  if (local) origin.local = std::move(*local);  // not there: Open vSwitch could not make it
  return origin;
}

}  // namespace

ovs::BridgeSpec SpecOf(const config::NodeConfig& config, const config::Rail& rail, const MacAddress& mac) {
  return {.name = rail.bridge,
          .datapath = config.ovs.datapath,
          .uplink = rail.pf,
          .hwaddr = mac.ToString(),
          .mtu = rail.mtu,
          .external_ids = {{kOwnerKey, rail.name}},
          .prefixes = pipeline::TrackedPrefixes()};
}

Result<uint64_t> RulesOfOthers(Connections& connections, const std::string& bridge) {
  RAIL_ASSIGN(ovs::OpenFlow * rules, connections.OpenFlow(bridge));
  uint64_t count = 0;
  RAIL_TRY(rules->ForEach(
      ovs::CookieMatch::Everything(),
      [&](const ovs::RuleStats& stats) {
        const bool is_ours = ovs::CookieMatch::Ours().Selects(stats.rule.cookie);
        if (!is_ours && !IsDefaultOfOpenVswitch(stats.rule)) ++count;
      },
      connections.CallDeadline()));
  return count;
}

Status BeforeFirstChange(Connections& connections, const config::Rail& rail, Origin* origin) {
  RAIL_ASSIGN(ovs::Ovsdb * db, connections.Ovsdb());
  RAIL_ASSIGN(const auto bridge, db->FindBridge(rail.bridge, connections.CallDeadline()));
  RAIL_TRY(MayTakeOver(connections, rail, bridge));
  if (origin == nullptr) return {};
  const bool others_made_it = bridge && !IsMarked(*bridge);
  return origin->Bridge(rail.bridge, others_made_it, [&] { return LookAt(connections, rail, bridge); });
}

}  // namespace rail::engine
