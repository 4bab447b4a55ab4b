#include <algorithm>
#include <map>
#include <tuple>

#include "lib/base/utf8.h"
#include "lib/inspect/inspector.h"

namespace rail::inspect {
namespace {

using Names = google::protobuf::RepeatedPtrField<std::string>;

bool Has(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

void Insert(Names& names, const std::string& name) {
  if (!Has(names, name)) *names.Add() = name;
}

}  // namespace

v1::ListTenantsResponse Tenants(const engine::NodeView& view, const config::Tenancy& tenancy) {
  std::map<tenancy::TenantId, v1::TenantSummary> by_id;
  for (const engine::AttachmentView& shown : view.attachments) {
    const state::Attachment& a = shown.attachment;
    if (a.tenant_id.is_none()) continue;
    v1::TenantSummary& tenant = by_id[a.tenant_id];
    tenant.mutable_tenant()->set_name(ValidUtf8(a.tenant));
    tenant.set_attachments(tenant.attachments() + 1);
    Insert(*tenant.mutable_rails(), a.rail);
    if (!a.pod_namespace.empty()) Insert(*tenant.mutable_namespaces(), ValidUtf8(a.pod_namespace));
  }
  for (const engine::RemoteView& remote : view.remotes) {
    v1::TenantSummary& tenant = by_id[remote.remote.tenant];
    tenant.set_remotes(tenant.remotes() + 1);
    if (tenant.tenant().name().empty()) tenant.mutable_tenant()->set_name(ValidUtf8(remote.tenant));
  }
  v1::ListTenantsResponse response;
  auto& all = *response.mutable_tenants();
  for (auto& [id, tenant] : by_id) {
    if (!id.is_none()) tenant.mutable_tenant()->set_id(id.ToString());
    *all.Add() = std::move(tenant);
  }
  const bool vrf = tenancy.mode == config::TenancyMode::kVrf;  // no namespace is a tenant by itself
  for (const auto& [name, namespaces] : tenancy.tenants) {
    // A namespace outside the map may have the name of a tenant of the map, and is another tenant. So compare the namespaces, too.
    const auto it = std::ranges::find_if(all, [&](const v1::TenantSummary& each) {
      return each.tenant().name() == name &&
             (vrf || std::ranges::any_of(namespaces,
                                         [&](const std::string& of) { return Has(each.namespaces(), of); }));
    });
    v1::TenantSummary& tenant = it == all.end() ? *all.Add() : *it;
    tenant.mutable_tenant()->set_name(name);
    tenant.set_configured(true);
    for (const std::string& each : namespaces) Insert(*tenant.mutable_namespaces(), each);
  }
  for (v1::TenantSummary& tenant : all) {
    tenant.mutable_tenant();
    tenant.set_vlan(tenancy.vlans.Of(tenant.tenant().name()));
    std::ranges::sort(*tenant.mutable_namespaces());
    std::ranges::sort(*tenant.mutable_rails());
  }
  std::ranges::sort(all, {}, [](const v1::TenantSummary& each) {
    return std::tuple(each.tenant().name().empty(), each.tenant().name(), each.tenant().id());
  });
  return response;
}

}  // namespace rail::inspect
