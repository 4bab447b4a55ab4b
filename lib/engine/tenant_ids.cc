#include "lib/engine/tenant_ids.h"

#include <algorithm>

namespace rail::engine {

using tenancy::TenantId;

TenantIds::TenantIds(const tenancy::Tenancy& tenancy, const std::vector<state::Attachment>& attachments) {
  std::map<TenantId, std::set<std::pair<TenantId, std::string>>>
      owners;  // id -> the tenants (now, name) that have it
  for (const state::Attachment& attachment : attachments) {
    if (attachment.tenant_id == 0) continue;
    const TenantId recorded{attachment.tenant_id};
    const auto [entry, fresh] =
        known_.try_emplace({attachment.tenant, recorded.value}, Known{recorded, std::nullopt});
    if (!fresh) continue;
    std::vector<TenantId> ids = {recorded};
    if (auto recognised = tenancy.Recognise(attachment.tenant, recorded)) {
      ids = std::move(recognised->ids);
      entry->second = {ids.front(), recognised->key};
      for (size_t key = 0; key < ids.size(); ++key) keys_.emplace(ids[key], key);
    }
    const TenantId now = entry->second.now;
    names_.emplace(now, attachment.tenant);
    for (const TenantId id : ids) owners[id].emplace(now, attachment.tenant);
  }
  for (const auto& [id, tenants] : owners) {
    if (tenants.size() > 1) {
      for (const auto& [now, name] : tenants) shared_[id].insert(name);
      continue;
    }
    const TenantId now = tenants.begin()->first;
    meaning_[id] = now;
    announced_as_[now].push_back(id);
  }
}

TenantId TenantIds::Now(const state::Attachment& attachment) const {
  const auto it = known_.find({attachment.tenant, attachment.tenant_id});
  return it == known_.end() ? TenantId{attachment.tenant_id} : it->second.now;
}

std::optional<size_t> TenantIds::KeyOf(const state::Attachment& attachment) const {
  const auto it = known_.find({attachment.tenant, attachment.tenant_id});
  return it == known_.end() ? std::nullopt : it->second.key;
}

const std::vector<TenantId>& TenantIds::AnnouncedAs(TenantId now) const {
  static const std::vector<TenantId> kNone;
  const auto it = announced_as_.find(now);
  return it == announced_as_.end() ? kNone : it->second;
}

std::optional<TenantId> TenantIds::Meaning(TenantId id) const {
  const auto it = meaning_.find(id);
  return it == meaning_.end() ? std::nullopt : std::optional(it->second);
}

bool TenantIds::AreOne(const std::set<TenantId>& ids) const {
  if (ids.empty()) return false;
  const auto first = Meaning(*ids.begin());
  return first && std::ranges::all_of(ids, [&](TenantId id) { return Meaning(id) == first; });
}

std::optional<size_t> TenantIds::KeyOf(TenantId id) const {
  const auto it = keys_.find(id);
  return it == keys_.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace rail::engine
