// The addresses of this node's pods, and who else announces them.
//
// Use:      OwnHeard own;  for (const IpAddress& address : own.Set(addresses)) ...
//           if (own.SetElsewhere(address, elsewhere)) ...  // it is news
// Threads:  one
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "lib/base/address.h"
#include "lib/tenancy/tenancy.h"

namespace rail::engine {

// How a route has come here.
struct HeardPath {
  IpAddress leaf;                 // whose session it came over
  std::vector<uint32_t> as_path;  // the nearest AS first; empty: not known
  auto operator<=>(const HeardPath&) const = default;
  // Where the path begins: a node. 0: the path names none.
  uint32_t origin() const { return as_path.empty() ? 0 : as_path.back(); }
};

// Who else announces the address of a pod of this node.
struct Elsewhere {
  std::set<tenancy::TenantId> tenants;  // whose it is there
  bool without_tenant = false;          // somebody announces it for no tenant
  std::set<HeardPath> paths;
  bool operator==(const Elsewhere&) const = default;
};

// An address, and whose it is or who hears of it: in mode `vrf` two tenants may have it.
struct OwnKey {
  tenancy::TenantId tenant;
  IpAddress address;
  auto operator<=>(const OwnKey&) const = default;
};

// An address of a pod of this node, as it is announced.
struct OwnAddress {
  tenancy::TenantId tenant;
  uint32_t rail = 0;  // its index
  bool operator==(const OwnAddress&) const = default;
};

using AlsoAnnounced = std::map<OwnKey, Elsewhere>;

class OwnHeard {
 public:
  // The addresses that are not as they were.
  std::set<IpAddress> Set(std::map<IpAddress, OwnAddress> own) {
    std::set<IpAddress> changed;
    for (const auto& [address, was] : own_) {
      const auto is = own.find(address);
      if (is == own.end() || is->second != was) changed.insert(address);
    }
    for (const auto& [address, is] : own) {
      if (!own_.contains(address)) changed.insert(address);
    }
    own_ = std::move(own);
    return changed;
  }
  // nullptr: it is no pod's of this node.
  const OwnAddress* Find(const IpAddress& address) const {
    const auto found = own_.find(address);
    return found == own_.end() ? nullptr : &found->second;
  }
  std::set<tenancy::TenantId> Tenants() const {
    std::set<tenancy::TenantId> tenants;
    for (const auto& [address, own] : own_) tenants.insert(own.tenant);
    return tenants;
  }

  // Without paths nobody else announces it. Whether that is news.
  bool SetElsewhere(const IpAddress& address, Elsewhere now) {
    if (now.paths.empty()) return elsewhere_.erase(address) > 0;
    Elsewhere& known = elsewhere_[address];
    if (known == now) return false;
    known = std::move(now);
    return true;
  }
  bool IsElsewhere(const IpAddress& address) const { return elsewhere_.contains(address); }
  AlsoAnnounced Elsewheres() const {
    AlsoAnnounced all;
    for (const auto& [address, elsewhere] : elsewhere_)
      all.insert({{own_.at(address).tenant, address}, elsewhere});
    return all;
  }

 private:
  std::map<IpAddress, OwnAddress> own_;
  std::map<IpAddress, Elsewhere> elsewhere_;
};

}  // namespace rail::engine
