#include "lib/engine/attach/tenant_addresses.h"

#include "lib/engine/attach/tenant_step.h"

namespace rail::engine {
namespace {

using config::TenancyMode;
using state::Attachment;
using state::ClaimKind;

std::string OfTenant(const std::string& tenant, const IpAddress& address) {
  return tenant + "/" + address.ToString();
}

std::string Vlan(uint16_t vlan) {
  return vlan == config::kNoVlan ? "no VLAN" : "VLAN " + std::to_string(vlan);
}

}  // namespace

std::string AddressClaim(const config::NodeConfig& config, const std::string& tenant,
                         const IpAddress& address) {
  return config.tenancy.mode == TenancyMode::kVrf ? OfTenant(tenant, address) : address.ToString();
}

Status ClaimAddresses(Node& node, const Attachment& attachment) {
  if (node.config.tenancy.mode != TenancyMode::kVrf) return {};
  for (const IpAddress& address : attachment.addresses) {
    RAIL_TRY(node.store.Claim(attachment.id, ClaimKind::kAddress,
                              AddressClaim(node.config, attachment.tenant, address)));
  }
  return {};
}

Result<std::vector<ovs::Rule>> TenantRulesOf(Node& node, const Attachment& attachment) {
  pipeline::BridgeFacts bridge;  // without VLANs these rules ask for nothing of it
  if (node.config.tenancy.mode == TenancyMode::kVrf) {
    RAIL_ASSIGN(const config::Rail* rail, RailOf(node.config, attachment.rail));
    RAIL_ASSIGN(bridge, Facts(node, *rail));
  }
  std::vector<ovs::Rule> rules =
      pipeline::TenantRules(bridge, PodOf(bridge, attachment), attachment.tenant_id);
  rules.push_back(pipeline::CompareRule(attachment.tenant_id));
  return rules;
}

// All pods were attached in one mode, so the first that has claimed its address tells it of all.
Status KeepsMode(const config::NodeConfig& config, const std::vector<Attachment>& all, state::Store& store) {
  const bool vrf = config.tenancy.mode == TenancyMode::kVrf;
  bool keeps_mode = false;
  for (const Attachment& attachment : all) {
    if (attachment.phase == state::Phase::kDeleting || attachment.addresses.empty()) continue;
    if (keeps_mode) break;
    const IpAddress& address = attachment.addresses.front();
    const std::string plain = address.ToString(), of_tenant = OfTenant(attachment.tenant, address);
    RAIL_ASSIGN(const auto owner, store.OwnerOf(ClaimKind::kAddress, vrf ? plain : of_tenant));
    if (owner == attachment.id) {
      return Fail(Code::kInvalid,
                  "tenancy.mode in node.json is " + std::string(vrf ? "" : "not ") +
                      "\"vrf\", and pods of this node were attached " + (vrf ? "without it" : "with it") +
                      " (" + attachment.pod_namespace + "/" + attachment.pod_name +
                      "): the mode cannot change while pods run; set it back, or drain the node first");
    }
    RAIL_ASSIGN(const auto claimed, store.OwnerOf(ClaimKind::kAddress, vrf ? of_tenant : plain));
    keeps_mode = claimed == attachment.id;
  }
  return {};
}

Status KeepsVlan(const config::NodeConfig& config, const Attachment& attachment,
                 const std::vector<state::Step>& steps) {
  // Without a tenant in the record an ADD is between its step and its tenant, or has died there.
  if (config.tenancy.mode != TenancyMode::kVrf || attachment.phase == state::Phase::kDeleting ||
      attachment.tenant.empty())
    return {};
  const auto joined = TenantStepOf(steps);
  if (!joined && joined.error().code == Code::kNotFound) return {};
  if (!joined) return tl::make_unexpected(joined.error());
  if (tenancy::NamedTenant(config, attachment.tenant).id != attachment.tenant_id) {
    return Fail(Code::kInvalid,
                "cluster in node.json is \"" + config.cluster.name +
                    "\", and pods of this node were attached under another name of the cluster (" +
                    attachment.pod_namespace + "/" + attachment.pod_name +
                    "): with tenancy.mode \"vrf\" it cannot change while pods run; set it back, or drain the "
                    "node first");
  }
  const uint16_t now = config.tenancy.vlans.Of(attachment.tenant);
  if (joined->vlan == now) return {};
  return Fail(Code::kInvalid,
              "tenancy.vlans in node.json gives tenant " + attachment.tenant + " " + Vlan(now) +
                  ", and pods of this node were attached in " + Vlan(joined->vlan) + " (" +
                  attachment.pod_namespace + "/" + attachment.pod_name +
                  "): a tenant's VLAN cannot change while pods of it run; set it back, or delete these pods");
}

Status KeepsVlans(const config::NodeConfig& config, const config::NodeConfig& was,
                  const std::vector<Attachment>& all, state::Store& store) {
  for (const Attachment& attachment : all) {
    RAIL_ASSIGN(const std::vector<state::Step> steps, store.Steps(attachment.id));
    if (KeepsVlan(was, attachment, steps)) RAIL_TRY(KeepsVlan(config, attachment, steps));
  }
  return {};
}

Status KeepsVlans(VerbContext& context, const std::string& tenant) {
  if (context.config.tenancy.mode != TenancyMode::kVrf) return {};
  RAIL_ASSIGN(const std::vector<Attachment> all, context.store->List());
  for (const Attachment& attachment : all) {
    if (attachment.tenant != tenant) continue;
    RAIL_ASSIGN(const std::vector<state::Step> steps, context.store->Steps(attachment.id));
    RAIL_TRY(KeepsVlan(context.config, attachment, steps));
  }
  return {};
}

Status KeepsMode(VerbContext& context) {
  RAIL_ASSIGN(const std::vector<Attachment> all, context.store->List());
  return KeepsMode(context.config, all, *context.store);
}

}  // namespace rail::engine
