// Namespaces and tenants that nodes see differently: the fewer are named.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "lib/base/text.h"
#include "lib/fabric/cause.h"
#include "lib/fabric/text.h"

namespace rail::fabric {
namespace {

// Who says one thing of several.
struct Said {
  std::string_view name;  // the tenant's
  size_t attachments = 0;
  std::set<std::string, NaturalLess> nodes;
};

using ById = std::map<std::string_view, Said>;  // by the tenant's id

void Add(ById& all, const Placed& placed) {
  const v1::Tenant& tenant = placed.attachment->tenant();
  Said& said = all[tenant.id()];
  said.name = tenant.name();
  ++said.attachments;
  said.nodes.insert(placed.node->name);
}

// The id with most attachments; of several with as many: none.
std::string_view Most(const ById& all) {
  std::string_view most;
  size_t count = 0;
  for (const auto& [id, said] : all) {
    if (said.attachments == count) most = "";
    if (said.attachments <= count) continue;
    most = id;
    count = said.attachments;
  }
  return most;
}

// Whom it concerns: who differs from most, else all.
Cause Made(std::string_view id, const std::string& subject, const ById& all) {
  Cause cause{.kind = &KindOf(id), .subject = subject};
  const std::string_view most = Most(all);
  std::set<std::string, NaturalLess> nodes;
  for (const auto& [tenant, said] : all) {
    if (tenant == most) continue;
    nodes.insert(said.nodes.begin(), said.nodes.end());
    cause.follows["attachments"] += static_cast<uint32_t>(said.attachments);
  }
  cause.nodes = {nodes.begin(), nodes.end()};
  return cause;
}

void TellNamespace(const std::string& ns, const ById& all, std::vector<Cause>& found) {
  std::set<std::string_view> names;
  for (const auto& [id, said] : all) names.insert(said.name);
  if (names.size() < 2) return;  // one tenant, or one name with two ids
  Cause cause = Made("namespace-in-two-tenants", ns, all);
  const auto text = [](const auto& each) {
    const auto& said = each.second;
    return fmt::format("{} by {} ({})", said.name, Some(said.nodes.size(), "node", "nodes"),
                       ListOf({said.nodes.begin(), said.nodes.end()}));
  };
  cause.what = "namespace " + ns + " is of tenant " + Join(all, " and of tenant ", text);
  found.push_back(std::move(cause));
}

void TellTenant(const std::string& tenant, const ById& all, std::vector<Cause>& found) {
  if (all.size() < 2) return;
  Cause cause = Made("tenant-of-two-ids", tenant, all);
  const auto text = [](const auto& each) {
    const auto& said = each.second;
    return fmt::format("{} by {} ({})", each.first, Some(said.nodes.size(), "node", "nodes"),
                       ListOf({said.nodes.begin(), said.nodes.end()}));
  };
  cause.what = "tenant " + tenant + " has id " + Join(all, " and id ", text);
  found.push_back(std::move(cause));
}

}  // namespace

void JudgeTenants(const Look& look, std::vector<Cause>& found) {
  std::map<std::string_view, ById> of_namespace;
  std::map<std::string_view, ById> of_tenant;
  for (const auto& [key, placed] : look.fleet.attachments()) {
    const v1::Attachment& attachment = *placed.attachment;
    const bool counts = placed.node->IsSeen() && attachment.phase() == v1::Attachment::READY &&
                        !attachment.tenant().id().empty();
    if (!counts) continue;
    Add(of_namespace[key.ns], placed);
    if (!attachment.tenant().name().empty()) Add(of_tenant[attachment.tenant().name()], placed);
  }
  for (const auto& [ns, all] : of_namespace) TellNamespace(std::string(ns), all, found);
  for (const auto& [tenant, all] : of_tenant) TellTenant(std::string(tenant), all, found);
}

}  // namespace rail::fabric
