#include "lib/engine/attach/differences.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "lib/engine/attach/tenant_addresses.h"
#include "lib/engine/attach/tenant_move.h"
#include "lib/tenancy/tenancy.h"

namespace rail::engine {
namespace {

using state::Attachment;

std::string Sentence(const ovs::Rule& rule) {
  return fmt::format("the rule table={},priority={},{} actions={}", rule.table, rule.priority, rule.match,
                     rule.actions);
}

}  // namespace

Result<Differences> PortDiffers(Node& node, const config::Rail& rail, const Attachment& attachment) {
  RAIL_ASSIGN(ovs::Ovsdb * db, node.connections.Ovsdb());
  RAIL_ASSIGN(const auto port, db->FindPort(attachment.representor, node.connections.CallDeadline()));
  const std::string representor = "the representor " + attachment.representor;
  if (!port) return Differences{representor + " is not a port of bridge " + rail.bridge};
  if (port->bridge != rail.bridge) {
    return Differences{representor + " is on bridge " + port->bridge + ", not on " + rail.bridge};
  }
  if (port->ofport != attachment.ofport) {
    return Differences{representor + " does not work as port " + std::to_string(attachment.ofport) +
                       (port->error.empty() ? "" : ": " + port->error)};
  }
  RAIL_ASSIGN(guard::Guard * guard, node.connections.Guard());
  RAIL_ASSIGN(const bool guarded, guard->Holds(attachment.representor, AllowedOf(rail, attachment)));
  if (!guarded)
    return Differences{representor +
                       " lacks its guard, which refuses what the pod may not send; raild puts it back"};
  return Differences();
}

Result<Differences> RulesDiffer(Node& node, const Attachment& attachment,
                                const std::vector<ovs::Rule>& wanted) {
  RAIL_ASSIGN(const config::Rail* rail, RailOf(node.config, attachment.rail));
  RAIL_ASSIGN(ovs::OpenFlow * switch_, node.connections.OpenFlow(rail->bridge));
  // Reads by cookie: a node may hold the rules of 100,000 remotes, and the attachment has a dozen rules.
  std::set<uint64_t> cookies;
  for (const ovs::Rule& rule : wanted) cookies.insert(rule.cookie);
  std::set<ovs::Rule> have;
  for (const uint64_t cookie : cookies) {
    RAIL_ASSIGN(const auto dumped, switch_->Dump({cookie, ~0ULL}, node.connections.CallDeadline()));
    for (const ovs::RuleStats& stats : dumped) have.insert(stats.rule);
  }
  Differences missing;
  for (const ovs::Rule& rule : wanted) {
    if (!have.contains(rule)) missing.push_back("bridge " + rail->bridge + " lacks " + Sentence(rule));
  }
  return missing;
}

Differences TenantDiffers(const Attachment& attachment, const std::string& moves_to,
                          const config::NodeConfig& config, const tenancy::LoadMap& tenants) {
  const auto now = tenancy::TenantOf(config, attachment.pod_namespace, tenants);
  if (!now &&
      now.error().code == Code::kInvalid) {  // mode `vrf`: its namespace has no tenant with a VLAN any more
    return {"the pod is in tenant " + attachment.tenant + " (" + attachment.tenant_id.ToString() +
            "), and a new one would be refused: " + now.error().message};
  }
  if (!now || now->id == attachment.tenant_id) return {};
  return {"the pod is in tenant " + attachment.tenant + " (" + attachment.tenant_id.ToString() +
          "), its namespace is in tenant " + now->name + " (" + now->id.ToString() + "): " +
          (!moves_to.empty()
               ? "raild moves it; if it does not, see whether raild runs and Open vSwitch answers"
               : "attach the pod anew")};
}

Differences TenantDiffers(const Attachment& attachment, const std::vector<state::Step>& steps,
                          const config::NodeConfig& config, const tenancy::LoadMap& tenants) {
  if (const Status keeps = KeepsVlan(config, attachment, steps); !keeps) return {keeps.error().message};
  const auto to = MovesTo(attachment, steps, config, tenants);
  return TenantDiffers(attachment, to ? to->name : std::string(), config, tenants);
}

std::string UplinkProblem(const config::Rail& rail, const Result<netlink::Link>& link) {
  if (!link) return "the uplink " + rail.pf + " of rail " + rail.name + ": " + link.error().message;
  if (link->carrier) return {};
  return "the uplink " + rail.pf + " of rail " + rail.name + " has no carrier" +
         (link->up ? " (is the cable in, is the leaf's port up?)" : " (it is set down)") +
         "; the rail's addresses are not announced until it is back";
}

Result<Differences> AnnouncementDiffers(Node& node, const config::Rail& rail, const Attachment& attachment,
                                        const std::vector<frr::Announcement>& announced) {
  Differences found;
  RAIL_ASSIGN(netlink::Netlink * host, node.connections.Netlink());
  const std::string uplink = UplinkProblem(rail, host->GetLink(rail.pf));
  if (!uplink.empty()) found.push_back(uplink);
  const tenancy::TenantId tenant = attachment.tenant_id;
  for (const IpAddress& address : attachment.addresses) {
    const auto seen = std::ranges::find(announced, address, &frr::Announcement::address);
    if (seen == announced.end()) {
      found.push_back("bgpd does not announce " + address.ToHostPrefix());
    } else if (seen->edited) {
      found.push_back("bgpd announces " + address.ToHostPrefix() +
                      " by a route-map of ours that somebody has edited or removed");
    } else if (seen->rail != rail.name || seen->tenant != tenant) {
      found.push_back("bgpd announces " + address.ToHostPrefix() + " for rail " + seen->rail +
                      " and tenant " + seen->tenant.ToString() + ", not for rail " + rail.name +
                      " and tenant " + tenant.ToString());
    }
  }
  return found;
}

}  // namespace rail::engine
