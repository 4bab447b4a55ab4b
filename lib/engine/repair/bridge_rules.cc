#include "lib/engine/repair/bridge_rules.h"

#include <algorithm>

namespace rail::engine {
namespace {

const RemoteSet kNoAddresses;

const RemoteSet& LearnedOf(const RemoteSelection& selection, tenancy::TenantId tenant) {
  if (selection.learned == nullptr) return kNoAddresses;
  const auto found = selection.learned->by_tenant.find(tenant);
  return found == selection.learned->by_tenant.end() ? kNoAddresses : *found->second;
}

const RemoteSet& SetOf(const RemoteSelection& selection, tenancy::TenantId tenant) {
  return selection.present.contains(tenant) ? LearnedOf(selection, tenant) : kNoAddresses;
}

bool Selects(const RemoteSelection& selection, const RemoteEntry& entry) {
  return !entry.contested && (!selection.only_rail || entry.rail == *selection.only_rail);
}

// Those that BGP tells of. In mode `vrf` none leaves.
const LeavingAddresses& LeavingOf(const RemoteSelection& selection) {
  static const LeavingAddresses kNone;
  return selection.learned == nullptr ? kNone : *selection.learned->leaving;
}

// Whether the bridge has rules of an address that is leaving, though its new tenant is not present: then that one's set is not looked at.
bool SelectsOnlyLeaving(const RemoteSelection& selection, const IpAddress& address,
                        const pipeline::TenantIds& tenants) {
  if (selection.present.contains(tenants.tenant) || !selection.present.contains(tenants.leaving))
    return false;
  const RemoteEntry* entry = LearnedOf(selection, tenants.tenant).Find(address);
  return entry != nullptr && Selects(selection, *entry);
}

bool IsPresent(const RemoteSelection& selection, const pipeline::TenantIds& tenants) {
  return selection.present.contains(tenants.tenant) || selection.present.contains(tenants.leaving);
}

}  // namespace

uint16_t RemoteSelection::VlanOf(tenancy::TenantId tenant) const {
  const auto found = vlans.find(tenant);
  return found == vlans.end() ? config::kNoVlan : found->second;
}

RemoteSelection::Tenants RemoteSelection::TenantsOf(const VlanAddress& address) const {
  if (here.contains(address)) return std::nullopt;
  if (const auto own = other_rails.find(address); own != other_rails.end())
    return IsPresent(*this, own->second) ? Tenants(own->second) : std::nullopt;
  const LeavingAddresses& all_leaving = LeavingOf(*this);
  const auto leaving = all_leaving.find(address.address);
  for (const tenancy::TenantId tenant : present) {
    if (VlanOf(tenant) != address.vlan) continue;
    const RemoteEntry* entry = SetOf(*this, tenant).Find(address.address);
    if (entry != nullptr && Selects(*this, *entry))
      return leaving == all_leaving.end() ? pipeline::TenantIds(tenant) : leaving->second;
  }
  if (leaving != all_leaving.end() && address.vlan == config::kNoVlan &&
      SelectsOnlyLeaving(*this, address.address, leaving->second))
    return leaving->second;
  return std::nullopt;
}

void RemoteSelection::ForEach(
    const std::function<void(const VlanAddress&, const pipeline::TenantIds&)>& each) const {
  for (const auto& [address, tenants] : other_rails) {
    if (IsPresent(*this, tenants) && !here.contains(address)) each(address, tenants);
  }
  const LeavingAddresses& all_leaving = LeavingOf(*this);
  for (const tenancy::TenantId tenant : present) {
    const uint16_t vlan = VlanOf(tenant);
    SetOf(*this, tenant).ForEach([&](const RemoteEntry& entry) {
      const VlanAddress address(entry.address, vlan);
      if (!Selects(*this, entry) || here.contains(address) || other_rails.contains(address)) return;
      const auto leaving = all_leaving.empty() ? all_leaving.end() : all_leaving.find(entry.address);
      each(address, leaving == all_leaving.end() ? pipeline::TenantIds(tenant) : leaving->second);
    });
  }
  for (const auto& [address, tenants] : all_leaving) {
    if (SelectsOnlyLeaving(*this, address, tenants) && !here.contains(address) &&
        !other_rails.contains(address))
      each(address, tenants);
  }
}

std::set<tenancy::TenantId> RemoteSelection::Left() const {
  std::set<tenancy::TenantId> left;
  const auto add = [&](const auto& addresses) {
    for (const auto& [address, tenants] : addresses) {
      if (present.contains(tenants.leaving)) left.insert(tenants.leaving);
    }
  };
  add(other_rails);
  add(LeavingOf(*this));
  return left;
}

void RemoteSelection::Difference(const RemoteSelection& before, const RemoteSelection& now,
                                 const std::function<void(const VlanAddress&, Tenants, Tenants)>& changed) {
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
      for (const auto& [address, whose] : side->other_rails) candidates.push_back(address);
    }
  }
  for (const RemoteSelection* side : {&before, &now}) {
    for (const auto& [address, whose] : LeavingOf(*side)) candidates.emplace_back(address);
  }
  std::ranges::sort(candidates);
  const auto twice = std::ranges::unique(candidates);
  candidates.erase(twice.begin(), twice.end());
  for (const VlanAddress& address : candidates) {
    const Tenants was = before.TenantsOf(address);
    const Tenants is = now.TenantsOf(address);
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
      bridge_, rule, [&](const pipeline::VlanAddress& address) { return remotes_.TenantsOf(address); });
}

}  // namespace rail::engine
