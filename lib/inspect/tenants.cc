#include "lib/inspect/tenants.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace rail::inspect {

std::vector<TenantSeen> Tenants(const engine::NodeView& view, const config::Tenancy& tenancy) {
  std::map<tenancy::TenantId, TenantSeen> by_id;
  for (const engine::AttachmentView& shown : view.attachments) {
    const state::Attachment& a = shown.attachment;
    if (a.tenant_id.is_none()) continue;
    TenantSeen& tenant = by_id[a.tenant_id];
    tenant.name = a.tenant;
    ++tenant.attachments;
    tenant.rails.insert(a.rail);
    if (!a.pod_namespace.empty()) tenant.namespaces.insert(a.pod_namespace);
  }
  for (const engine::RemoteView& remote : view.remotes) {
    TenantSeen& tenant = by_id[remote.remote.tenant];
    ++tenant.remotes;
    if (tenant.name.empty()) tenant.name = remote.tenant;
  }
  std::vector<TenantSeen> all;
  for (auto& [id, tenant] : by_id) {
    tenant.id = id;
    all.push_back(std::move(tenant));
  }
  const bool vrf = tenancy.mode == config::TenancyMode::kVrf;  // no namespace is a tenant by itself
  for (const auto& [name, namespaces] : tenancy.tenants) {
    // A namespace outside the map may have the name of a tenant of the map, and is another tenant. So compare the namespaces, too.
    auto it = std::ranges::find_if(all, [&](const TenantSeen& each) {
      return each.name == name && (vrf || std::ranges::any_of(namespaces, [&](const std::string& of) {
                                     return each.namespaces.contains(of);
                                   }));
    });
    if (it == all.end()) it = all.insert(all.end(), TenantSeen{.name = name});
    it->configured = true;
    it->namespaces.insert(namespaces.begin(), namespaces.end());
  }
  for (TenantSeen& tenant : all) tenant.vlan = tenancy.vlans.Of(tenant.name);
  std::ranges::sort(all, {},
                    [](const TenantSeen& each) { return std::tuple(each.name.empty(), each.name, each.id); });
  return all;
}

}  // namespace rail::inspect
