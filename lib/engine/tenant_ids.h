// Which id a tenant of this node has now, and which of its tenants an announcement elsewhere means, while keys are being replaced.
//
// Use:      const TenantIds ids(*picture.tenancy(), record.attachments);
//           rules and announcements of an attachment carry   ids.Now(attachment)
//           for (TenantId id : ids.AnnouncedAs(ids.Now(attachment))) ... remotes under `id` are its tenant's
// Threads:  plain data
// Source:   lib/tenancy/README.md ("Another key")
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/engine/remotes.h"
#include "lib/state/store.h"
#include "lib/tenancy/tenancy.h"

namespace rail::engine {

class TenantIds {
 public:
  // `attachments`: all of the node's record.
  TenantIds(const tenancy::Tenancy& tenancy, const std::vector<state::Attachment>& attachments);

  // Under the key of today. An id that no key of the node makes of the tenant's name stays what it is: traffic is never lost
  // to a key file alone. No tenant yet: 0.
  tenancy::TenantId Now(const state::Attachment& attachment) const;
  // The key (an index as in Tenancy::fingerprints) under which the record has it. Nothing: none, or no tenant yet.
  std::optional<size_t> KeyOf(const state::Attachment& attachment) const;

  // The ids by which pods elsewhere of the tenant that is `now` here may be announced. None that another tenant here has too.
  const std::vector<tenancy::TenantId>& AnnouncedAs(tenancy::TenantId now) const;
  // The tenant here, by the id that it has now, of an announcement under `id`. Nothing: of none, or of more than one.
  std::optional<tenancy::TenantId> Meaning(tenancy::TenantId id) const;
  // Whether announcements under all of `ids` mean one and the same tenant of this node.
  bool AreOne(const std::set<tenancy::TenantId>& ids) const;
  // By Now: the tenant's name.
  const std::map<tenancy::TenantId, std::string>& names() const { return names_; }
  // The key under which it is announced by `id`; nothing when no key here makes it of a tenant that is here.
  std::optional<size_t> KeyOf(tenancy::TenantId id) const;
  // Ids that several tenants here have, under one key or another: announcements under them reach nobody.
  const std::map<tenancy::TenantId, std::set<std::string>>& shared() const { return shared_; }

 private:
  struct Known {
    tenancy::TenantId now;
    std::optional<size_t> key;
  };
  using Recorded = std::pair<std::string, uint64_t>;  // name, id

  std::map<Recorded, Known> known_;
  std::map<tenancy::TenantId, std::string> names_;
  std::map<tenancy::TenantId, std::vector<tenancy::TenantId>> announced_as_;
  std::map<tenancy::TenantId, tenancy::TenantId> meaning_;
  std::map<tenancy::TenantId, size_t> keys_;
  std::map<tenancy::TenantId, std::set<std::string>> shared_;
};

}  // namespace rail::engine
