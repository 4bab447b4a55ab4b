#include "lib/engine/tenant_addresses.h"

namespace rail::engine {
namespace {

using config::TenancyMode;
using state::Attachment;
using state::ClaimKind;

std::string OfTenant(const std::string& tenant, const IpAddress& address) {
  return tenant + "/" + address.ToString();
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

Status ReleaseAddresses(Node& node, const Attachment& attachment) {
  Status released;
  for (const IpAddress& address : attachment.addresses) {
    const std::string claim = AddressClaim(node.config, attachment.tenant, address);
    if (Status one = node.store.Release(attachment.id, ClaimKind::kAddress, claim); !one)
      released = std::move(one);
  }
  return released;
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

Status KeepsMode(const config::NodeConfig& config, const std::vector<Attachment>& all, state::Store& store) {
  const bool vrf = config.tenancy.mode == TenancyMode::kVrf;
  for (const Attachment& attachment : all) {
    if (attachment.phase == state::Phase::kDeleting || attachment.addresses.empty()) continue;
    const IpAddress& address = attachment.addresses.front();
    const std::string other = vrf ? address.ToString() : OfTenant(attachment.tenant, address);
    RAIL_ASSIGN(const auto owner, store.OwnerOf(ClaimKind::kAddress, other));
    if (owner != attachment.id) continue;
    return Fail(Code::kInvalid,
                "tenancy.mode in node.json is " + std::string(vrf ? "" : "not ") +
                    "\"vrf\", and pods of this node were attached " + (vrf ? "without it" : "with it") +
                    " (" + attachment.pod_namespace + "/" + attachment.pod_name +
                    "): the mode cannot change while pods run; set it back, or drain the node first");
  }
  return {};
}

}  // namespace rail::engine
