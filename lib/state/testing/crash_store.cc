#include "lib/state/testing/crash_store.h"

namespace rail::state::testing {

void CrashStore::Pass(const char* when, const std::string& what) {
  if (++points_ == plan_.at) plan_.crash(when + what);
}

Result<Attachment> CrashStore::Create(const Attachment& draft) {
  return Around("Create", [&] { return inner_->Create(draft); });
}

Status CrashStore::SetPhase(int64_t id, Phase phase) {
  return Around(phase == Phase::kDeleting ? "SetPhase deleting" : "SetPhase",
                [&] { return inner_->SetPhase(id, phase); });
}

Status CrashStore::SetAddresses(int64_t id, const std::vector<IpAddress>& addresses,
                                const std::vector<IpAddress>& gateways) {
  return Around("SetAddresses", [&] { return inner_->SetAddresses(id, addresses, gateways); });
}

Status CrashStore::SetOfport(int64_t id, uint16_t ofport) {
  return Around("SetOfport", [&] { return inner_->SetOfport(id, ofport); });
}

Status CrashStore::SetTenant(int64_t id, const std::string& tenant, tenancy::TenantId tenant_id) {
  return Around("SetTenant", [&] { return inner_->SetTenant(id, tenant, tenant_id); });
}

Status CrashStore::MoveTenant(int64_t id, const std::string& tenant, tenancy::TenantId tenant_id,
                              int64_t unix_ms) {
  return Around("MoveTenant", [&] { return inner_->MoveTenant(id, tenant, tenant_id, unix_ms); });
}

Status CrashStore::SetLeft(int64_t id) {
  return Around("SetLeft", [&] { return inner_->SetLeft(id); });
}

Status CrashStore::SetAnnounced(int64_t id, bool announced) {
  return Around("SetAnnounced", [&] { return inner_->SetAnnounced(id, announced); });
}

Status CrashStore::Remove(int64_t id) {
  return Around("Remove", [&] { return inner_->Remove(id); });
}

Status CrashStore::Claim(int64_t attachment, ClaimKind kind, const std::string& value) {
  return Around("Claim " + std::string(ClaimKindName(kind)),
                [&] { return inner_->Claim(attachment, kind, value); });
}

Status CrashStore::Release(int64_t attachment, ClaimKind kind, const std::string& value) {
  return Around("Release " + std::string(ClaimKindName(kind)),
                [&] { return inner_->Release(attachment, kind, value); });
}

Status CrashStore::ReleaseAll(int64_t attachment, ClaimKind kind) {
  return Around("ReleaseAll " + std::string(ClaimKindName(kind)),
                [&] { return inner_->ReleaseAll(attachment, kind); });
}

Result<int64_t> CrashStore::RecordStep(int64_t attachment, const std::string& owner, const std::string& kind,
                                       const std::string& detail) {
  return Around("RecordStep " + kind, [&] { return inner_->RecordStep(attachment, owner, kind, detail); });
}

Status CrashStore::SetPending(int64_t step, const std::string& why) {
  return Around("SetPending", [&] { return inner_->SetPending(step, why); });
}

Status CrashStore::ForgetStep(int64_t step) {
  return Around("ForgetStep", [&] { return inner_->ForgetStep(step); });
}

}  // namespace rail::state::testing
