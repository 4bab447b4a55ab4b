// Which announced tenants are this cluster's: other names of it, and another cluster of the same name.
//
// Use:      ClusterNames names;  names.SetAliases(aliases);  names.SetMark(mark);
//           if (!names.IsForeign(mark)) tenant = names.Known(tenant);
// Threads:  one
#pragma once

#include <map>
#include <optional>

#include "lib/tenancy/tenancy.h"

namespace rail::engine {

using TenantAliases = std::map<tenancy::TenantId, tenancy::TenantId>;

class ClusterNames {
 public:
  // As Remotes::SetAliases and SetMark. Whether something has changed.
  bool SetAliases(const TenantAliases& aliases) {
    const bool changed = aliases != aliases_;
    aliases_ = aliases;
    return changed;
  }
  bool SetMark(std::optional<tenancy::ClusterMark> mark) {
    if (!mark || mark == mark_) return false;
    mark_ = mark;
    return true;
  }
  bool has_mark() const { return mark_.has_value(); }

  // The id here of a tenant that is announced with this one.
  tenancy::TenantId Known(tenancy::TenantId announced) const {
    const auto alias = aliases_.find(announced);
    return alias == aliases_.end() ? announced : alias->second;
  }
  bool IsForeign(std::optional<tenancy::ClusterMark> mark) const { return mark && mark_ && *mark != *mark_; }

 private:
  TenantAliases aliases_;
  std::optional<tenancy::ClusterMark> mark_;
};

}  // namespace rail::engine
