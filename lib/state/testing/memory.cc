#include "lib/state/testing/memory.h"

#include <algorithm>

namespace rail::state::testing {

void Memory::Changed() {
  ++record_->changes;
}

Result<Attachment> Memory::Create(const Attachment& draft) {
  if (draft.key.network.empty() || draft.key.container_id.empty() || draft.key.ifname.empty()) {
    return Fail(Code::kInvalid, "a part of the key is empty");
  }
  RAIL_ASSIGN(const auto known, Find(draft.key));
  if (known) return Fail(Code::kExists, draft.key.ToString() + " is in the record already");
  Attachment created = draft;
  created.id = record_->last_attachment + 1;
  record_->attachments[created.id] = created;
  if (!draft.device.empty()) {
    if (auto claimed = Claim(created.id, ClaimKind::kDevice, draft.device); !claimed) {
      record_->attachments.erase(created.id);
      return tl::make_unexpected(claimed.error());
    }
  }
  record_->last_attachment = created.id;
  Changed();
  return created;
}

Result<std::optional<Attachment>> Memory::Find(const AttachmentKey& key) {
  for (const auto& [id, attachment] : record_->attachments) {
    if (attachment.key == key) return std::optional(attachment);
  }
  return std::optional<Attachment>();
}

Result<std::vector<Attachment>> Memory::List() {
  std::vector<Attachment> list;
  for (const auto& [id, attachment] : record_->attachments) list.push_back(attachment);
  return list;
}

template <class Change>
Status Memory::Set(int64_t id, Change change) {
  const auto known = record_->attachments.find(id);
  if (known == record_->attachments.end()) return Fail(Code::kNotFound, "no such attachment");
  change(known->second);
  Changed();
  return {};
}

Status Memory::NotDeleting(int64_t id) {
  const auto known = record_->attachments.find(id);
  if (known == record_->attachments.end()) return Fail(Code::kNotFound, "no such attachment");
  if (known->second.phase == Phase::kDeleting) return Fail(Code::kBusy, "a DEL of it has begun");
  return {};
}

Status Memory::SetPhase(int64_t id, Phase phase) {
  if (phase != Phase::kDeleting) RAIL_TRY(NotDeleting(id));
  return Set(id, [&](Attachment& a) { a.phase = phase; });
}

Status Memory::SetAddresses(int64_t id, const std::vector<IpAddress>& addresses,
                            const std::vector<IpAddress>& gateways) {
  return Set(id, [&](Attachment& a) {
    a.addresses = addresses;
    a.gateways = gateways;
  });
}

Status Memory::SetOfport(int64_t id, uint16_t ofport) {
  return Set(id, [&](Attachment& a) { a.ofport = ofport; });
}

Status Memory::SetTenant(int64_t id, const std::string& tenant, tenancy::TenantId tenant_id) {
  if (!tenant_id.is_none()) RAIL_TRY(NotDeleting(id));
  return Set(id, [&](Attachment& a) {
    a.tenant = tenant;
    a.tenant_id = tenant_id;
    a.leaving = {};
    a.leaving_ms = 0;
  });
}

Status Memory::MoveTenant(int64_t id, const std::string& tenant, tenancy::TenantId tenant_id,
                          int64_t unix_ms) {
  RAIL_TRY(NotDeleting(id));
  return Set(id, [&](Attachment& a) {
    if (a.tenant_id != tenant_id) {
      a.leaving = a.tenant_id;
      a.leaving_ms = a.leaving.is_none() ? 0 : unix_ms;
    }
    a.tenant = tenant;
    a.tenant_id = tenant_id;
  });
}

Status Memory::SetLeft(int64_t id) {
  return Set(id, [&](Attachment& a) {
    a.leaving = {};
    a.leaving_ms = 0;
  });
}

Status Memory::SetAnnounced(int64_t id, bool announced) {
  if (announced) RAIL_TRY(NotDeleting(id));
  return Set(id, [&](Attachment& a) { a.announced = announced; });
}

Status Memory::Put(const Attachment& attachment) {
  return Set(attachment.id, [&](Attachment& a) { a = attachment; });
}

Status Memory::Remove(int64_t id) {
  RAIL_ASSIGN(const auto steps, Steps(id));
  if (!steps.empty()) return Fail(Code::kBusy, std::to_string(steps.size()) + " steps are left to undo");
  if (record_->attachments.erase(id) == 0) return {};
  std::erase_if(record_->claims, [id](const auto& claim) { return claim.second == id; });
  Changed();
  return {};
}

Status Memory::Claim(int64_t attachment, ClaimKind kind, const std::string& value) {
  if (value.empty()) return Fail(Code::kInvalid, "the name of what is claimed is empty");
  RAIL_TRY(NotDeleting(attachment));
  if (const auto held = record_->claims.find({kind, value}); held != record_->claims.end()) {
    if (held->second == attachment) return {};
    return Fail(Code::kBusy, std::string(ClaimKindName(kind)) + " " + value + " belongs to " +
                                 record_->attachments.at(held->second).key.ToString());
  }
  record_->claims[{kind, value}] = attachment;
  Changed();
  return {};
}

Status Memory::Release(int64_t attachment, ClaimKind kind, const std::string& value) {
  const auto held = record_->claims.find({kind, value});
  if (held == record_->claims.end() || held->second != attachment) return {};
  record_->claims.erase(held);
  Changed();
  return {};
}

Status Memory::ReleaseAll(int64_t attachment, ClaimKind kind) {
  const auto is_its = [&](const auto& claim) {
    return claim.first.first == kind && claim.second == attachment;
  };
  if (std::erase_if(record_->claims, is_its) > 0) Changed();
  return {};
}

Result<std::optional<int64_t>> Memory::OwnerOf(ClaimKind kind, const std::string& value) {
  const auto held = record_->claims.find({kind, value});
  return held == record_->claims.end() ? std::nullopt : std::optional(held->second);
}

Result<int64_t> Memory::RecordStep(int64_t attachment, const std::string& owner, const std::string& kind,
                                   const std::string& detail) {
  RAIL_TRY(NotDeleting(attachment));
  const int64_t id = ++record_->last_step;
  record_->steps[id] = Step{id, attachment, owner, kind, detail, ""};
  Changed();
  return id;
}

Status Memory::SetPending(int64_t step, const std::string& why) {
  const auto known = record_->steps.find(step);
  if (known == record_->steps.end()) return Fail(Code::kNotFound, "no such step");
  known->second.pending = why;
  Changed();
  return {};
}

Status Memory::ForgetStep(int64_t step) {
  if (record_->steps.erase(step) != 0) Changed();
  return {};
}

Result<std::vector<Step>> Memory::Steps(int64_t attachment) {
  std::vector<Step> list;
  for (const auto& [id, step] : record_->steps) {
    if (step.attachment == attachment) list.push_back(step);
  }
  return list;
}

Result<int64_t> Memory::Version() {
  return record_->changes;
}

}  // namespace rail::state::testing
