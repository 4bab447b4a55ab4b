#include "lib/engine/bridge_rules.h"

#include <algorithm>

namespace rail::engine {
namespace {

const RemoteSet& SetOf(const RemoteSelection& selection, tenancy::TenantId tenant) {
  static const RemoteSet kNone;
  if (selection.learned == nullptr || !selection.present.contains(tenant)) return kNone;
  const auto found = selection.learned->by_tenant.find(tenant);
  return found == selection.learned->by_tenant.end() ? kNone : *found->second;
}

bool Selects(const RemoteSelection& selection, const RemoteEntry& entry) {
  return !entry.contested && (!selection.only_rail || entry.rail == *selection.only_rail);
}

}  // namespace

std::optional<tenancy::TenantId> RemoteSelection::TenantOf(const IpAddress& address) const {
  if (here.contains(address)) return std::nullopt;
  if (const auto own = other_rails.find(address); own != other_rails.end())
    return present.contains(own->second) ? std::optional(own->second) : std::nullopt;
  for (const tenancy::TenantId tenant : present) {
    const RemoteEntry* entry = SetOf(*this, tenant).Find(address);
    if (entry != nullptr && Selects(*this, *entry)) return tenant;
  }
  return std::nullopt;
}

void RemoteSelection::ForEach(const std::function<void(const IpAddress&, tenancy::TenantId)>& each) const {
  for (const auto& [address, tenant] : other_rails) {
    if (present.contains(tenant) && !here.contains(address)) each(address, tenant);
  }
  for (const tenancy::TenantId tenant : present) {
    SetOf(*this, tenant).ForEach([&](const RemoteEntry& entry) {
      if (Selects(*this, entry) && !here.contains(entry.address) && !other_rails.contains(entry.address))
        each(entry.address, tenant);
    });
  }
}

void RemoteSelection::Difference(const RemoteSelection& before, const RemoteSelection& now,
                                 const std::function<void(const IpAddress&, Tenant, Tenant)>& changed) {
  std::vector<IpAddress> candidates;
  const auto add = [&](const IpAddress& address) { candidates.push_back(address); };
  std::set<tenancy::TenantId> tenants = before.present;
  tenants.insert(now.present.begin(), now.present.end());
  for (const tenancy::TenantId tenant : tenants)
    RemoteSet::Difference(SetOf(before, tenant), SetOf(now, tenant), add);
  std::ranges::set_symmetric_difference(before.here, now.here, std::back_inserter(candidates));
  if (before.other_rails != now.other_rails || before.present != now.present) {
    for (const RemoteSelection* side : {&before, &now}) {
      for (const auto& [address, tenant] : side->other_rails) add(address);
    }
  }
  std::ranges::sort(candidates);
  const auto twice = std::ranges::unique(candidates);
  candidates.erase(twice.begin(), twice.end());
  for (const IpAddress& address : candidates) {
    const Tenant was = before.TenantOf(address);
    const Tenant is = now.TenantOf(address);
    if (was != is) changed(address, was, is);
  }
}

BridgeRules::LocalPtr BridgeRules::ByPlace(const std::vector<ovs::Rule>& rules) {
  Local local;
  for (const ovs::Rule& rule : rules) local.try_emplace(PlaceOf(rule), rule);
  return std::make_shared<const Local>(std::move(local));
}

std::optional<ovs::Rule> BridgeRules::At(const ovs::Rule& rule) const {
  if (const auto found = local_->find(PlaceOf(rule)); found != local_->end()) return found->second;
  return pipeline::RemoteRuleAt(bridge_, rule,
                                [&](const IpAddress& address) { return remotes_.TenantOf(address); });
}

}  // namespace rail::engine
