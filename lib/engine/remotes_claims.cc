// What the paths of an address say together, beside the claims of this node's own pods.
#include <algorithm>

#include "lib/engine/remotes.h"

namespace rail::engine {

// Fresh paths overrule stale ones.
Remotes::Claim Remotes::ClaimOf(const Paths& paths) {
  Claim claim;
  const bool fresh = std::ranges::any_of(paths, [](const Path& path) { return !path.stale; });
  for (const Path& path : paths) {
    if (fresh && path.stale) continue;
    claim.tenants.insert(path.tenant);
    if (path.rail && (!claim.rail || *path.rail < *claim.rail)) claim.rail = path.rail;
  }
  return claim;
}

void Remotes::Changed(const IpAddress& address, const Claim& before, const Claim& after) {
  CompareWithOwn(address);
  if (before == after) return;
  news_ = true;
  for (const tenancy::TenantId tenant : before.tenants) {
    if (after.tenants.contains(tenant)) continue;
    by_tenant_[tenant].Erase(address);
    outdated_.insert(tenant);
  }
  Enter(address, after);
}

// A pod of this node has a claim, too: its address reaches no other tenant on any bridge. What others claim of it is in elsewhere_.
void Remotes::Enter(const IpAddress& address, const Claim& claim) {
  const auto own = own_.find(address);
  const bool several = claim.tenants.size() > 1;
  const bool contested = several || (own != own_.end() && !claim.tenants.contains(own->second.tenant));
  for (const tenancy::TenantId tenant : claim.tenants) {
    by_tenant_[tenant].Set({.address = address, .rail = claim.rail.value_or(0), .contested = contested});
    outdated_.insert(tenant);
  }
  if (several && own == own_.end()) {
    contested_[address] = claim.tenants;
  } else {
    contested_.erase(address);
  }
}

void Remotes::SetOwn(std::map<IpAddress, OwnAddress> own) {
  std::set<IpAddress> changed;
  for (const auto& [address, was] : own_) {
    const auto is = own.find(address);
    if (is == own.end() || is->second != was) changed.insert(address);
  }
  for (const auto& [address, is] : own) {
    if (!own_.contains(address)) changed.insert(address);
  }
  own_ = std::move(own);
  for (const IpAddress& address : changed) {
    CompareWithOwn(address);
    const auto paths = paths_.find(address);
    if (paths == paths_.end()) continue;
    Enter(address, ClaimOf(paths->second));
    news_ = true;
  }
}

// A stale path claims nothing: the pod may have moved here from where the path led. Without cross_rail, a tenant's address of
// another rail meets this one nowhere.
void Remotes::CompareWithOwn(const IpAddress& address) {
  Elsewhere now;
  const auto own = own_.find(address);
  const auto paths = paths_.find(address);
  if (own != own_.end() && paths != paths_.end()) {
    for (const Path& path : paths->second) {
      const bool meets =
          path.tenant != own->second.tenant || config_.tenancy.cross_rail || path.rail == own->second.rail;
      if (path.stale || !meets) continue;
      now.tenants.insert(path.tenant);
      now.origins.insert(path.origin);
    }
  }
  const auto before = elsewhere_.find(address);
  if (before == elsewhere_.end() ? now.tenants.empty() : before->second == now) return;
  news_ = true;
  if (now.tenants.empty()) {
    elsewhere_.erase(before);
  } else {
    elsewhere_[address] = std::move(now);
  }
}

const RemoteTable& Remotes::table() {
  for (const tenancy::TenantId tenant : outdated_) {
    const auto known = by_tenant_.find(tenant);
    if (known->second.empty()) {
      by_tenant_.erase(known);
      table_.by_tenant.erase(tenant);
    } else {
      table_.by_tenant[tenant] = std::make_shared<const RemoteSet>(known->second);
    }
  }
  outdated_.clear();
  table_.known = paths_.size();
  table_.contested = contested_.size();
  table_.example.reset();
  if (!contested_.empty()) table_.example = {contested_.begin()->first, contested_.begin()->second};
  table_.elsewhere = elsewhere_;
  return table_;
}

}  // namespace rail::engine
