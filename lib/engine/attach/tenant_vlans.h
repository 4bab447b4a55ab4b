// Mode `vrf`: which tenants' VLANs a rail carries on this node, and how what belongs to them is called: the port on the bridge over which
// the node and the leaf speak of the tenant, and the kernel's VRF that the port is in.
//
// Use:      for (const TenantVlan& one : VlansPresent(config, *record, rail)) Make(VlanPortName(rail, one.vlan));
//           if (const auto vlan = VlanOfPort(rail, port)) ...       // a port of ours, whether or not its tenant is still here
// Threads:  pure functions
// The port has the bridge's MAC (so the rules of the leaf and of the pods ask for one MAC), no `tag` of Open vSwitch (the rules push and pop it),
// and the name under which bgpd's session over it stands in Learned::sessions.
// Source:   lib/engine/attach/TABLES.md ("Mode vrf")
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/config/node_config.h"
#include "lib/engine/attach/record.h"
#include "lib/ovs/ovsdb.h"
#include "lib/tenancy/tenant_id.h"

namespace rail::engine {

struct TenantVlan {
  uint16_t vlan = config::kNoVlan;
  std::string tenant;
  tenancy::TenantId id;
  auto operator<=>(const TenantVlan&) const = default;
};

// The VLAN of an attachment: its tenant's in node.json, if the pod joined the tenant in it. kNoVlan: it speaks in none, and is cut off until
// it is attached anew: in another VLAN it might speak as another tenant, as the leaf still knows it.
uint16_t VlanOf(const config::Vlans& vlans, const state::Attachment& attachment,
                const std::vector<state::Step>& steps);

// Of the tenants that have an attachment on the rail, from the moment when its tenant is in the record until its DEL. Ascending, each once;
// none in the other modes. A tenant that node.json gives no VLAN, or another than its
// pods have, is not among them.
std::vector<TenantVlan> VlansPresent(const config::NodeConfig& config, const Record& record,
                                     const config::Rail& rail);

// Every tenant to which node.json gives a VLAN, here or not.
std::map<tenancy::TenantId, TenantVlan> VlansByTenant(const config::NodeConfig& config);

// Names of links (lib/tenancy/vrf_name.h).
std::string VrfName(const config::Rail& rail, uint16_t vlan);       // "railcni-0-101"
std::string VlanPortName(const config::Rail& rail, uint16_t vlan);  // "rcvlan-0-101"

// The VLAN of a name of that kind on the rail. nullopt: it is none.
std::optional<uint16_t> VlanOfVrf(const config::Rail& rail, std::string_view name);
std::optional<uint16_t> VlanOfPortName(const config::Rail& rail, std::string_view name);

// The key in a Port's external_ids that marks such a port; the value is its VLAN. kOwnerKey would make it an attachment's.
inline constexpr char kVlanKey[] = "railcni-vlan";
// nullopt: the port is not one of these, by its mark or by its name.
std::optional<uint16_t> VlanOfPort(const config::Rail& rail, const ovs::Port& port);

}  // namespace rail::engine
