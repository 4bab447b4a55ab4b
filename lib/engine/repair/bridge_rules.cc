#include "lib/engine/repair/bridge_rules.h"

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

uint16_t RemoteSelection::VlanOf(tenancy::TenantId tenant) const {
  const auto found = vlans.find(tenant);
  return found == vlans.end() ? config::kNoVlan : found->second;
}

std::optional<tenancy::TenantId> RemoteSelection::TenantOf(const VlanAddress& address) const {
  if (here.contains(address)) return std::nullopt;
  if (const auto own = other_rails.find(address); own != other_rails.end())
    return present.contains(own->second) ? std::optional(own->second) : std::nullopt;
  for (const tenancy::TenantId tenant : present) {
    if (VlanOf(tenant) != address.vlan) continue;
    const RemoteEntry* entry = SetOf(*this, tenant).Find(address.address);
    if (entry != nullptr && Selects(*this, *entry)) return tenant;
  }
  return std::nullopt;
}

void RemoteSelection::ForEach(const std::function<void(const VlanAddress&, tenancy::TenantId)>& each) const {
  for (const auto& [address, tenant] : other_rails) {
    if (present.contains(tenant) && !here.contains(address)) each(address, tenant);
  }
  for (const tenancy::TenantId tenant : present) {
    const uint16_t vlan = VlanOf(tenant);
    SetOf(*this, tenant).ForEach([&](const RemoteEntry& entry) {
      const VlanAddress address(entry.address, vlan);
      if (Selects(*this, entry) && !here.contains(address) && !other_rails.contains(address))
        each(address, tenant);
    });
  }
}

void RemoteSelection::Difference(const RemoteSelection& before, const RemoteSelection& now,
                                 const std::function<void(const VlanAddress&, Tenant, Tenant)>& changed) {
  std::vector<VlanAddress> candidates;
  std::set<tenancy::TenantId> tenants = before.present;
  tenants.insert(now.present.begin(), now.present.end());
  for (const tenancy::TenantId tenant : tenants) {
    const uint16_t vlan = std::max(before.VlanOf(tenant), now.VlanOf(tenant));
    RemoteSet::Difference(SetOf(before, tenant), SetOf(now, tenant),
                          [&](const IpAddress& address) { candidates.emplace_back(address, vlan); });
  }
  std::ranges::set_symmetric_difference(before.here, now.here, std::back_inserter(candidates));
  if (before.other_rails != now.other_rails || before.present != now.present) {
    for (const RemoteSelection* side : {&before, &now}) {
      for (const auto& [address, tenant] : side->other_rails) candidates.push_back(address);
    }
  }
  std::ranges::sort(candidates);
  const auto twice = std::ranges::unique(candidates);
  candidates.erase(twice.begin(), twice.end());
  for (const VlanAddress& address : candidates) {
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
  return pipeline::RemoteRuleAt(
      bridge_, rule, [&](const pipeline::VlanAddress& address) { return remotes_.TenantOf(address); });
}

}  // namespace rail::engine
