// The record in memory: what the contract asks of a Store, and nothing else.
//
// Use:      Memory store;  Memory other(store);      // a second connection to the same record
// Threads:  one at a time
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "lib/state/store.h"

namespace rail::state::testing {

class Memory : public Store {
 public:
  Memory() : record_(std::make_shared<Record>()) {}
  Memory(const Memory& other) : record_(other.record_) {}
  Memory& operator=(const Memory&) = delete;

  Result<Attachment> Create(const Attachment& draft) override;
  Result<std::optional<Attachment>> Find(const AttachmentKey& key) override;
  Result<std::vector<Attachment>> List() override;
  Status SetPhase(int64_t id, Phase phase) override;
  Status SetAddresses(int64_t id, const std::vector<IpAddress>& addresses,
                      const std::vector<IpAddress>& gateways) override;
  Status SetOfport(int64_t id, uint16_t ofport) override;
  Status SetTenant(int64_t id, const std::string& tenant, tenancy::TenantId tenant_id) override;
  Status MoveTenant(int64_t id, const std::string& tenant, tenancy::TenantId tenant_id,
                    int64_t unix_ms) override;
  Status SetLeft(int64_t id) override;
  Status SetAnnounced(int64_t id, bool announced) override;
  Status Remove(int64_t id) override;
  Status Claim(int64_t attachment, ClaimKind kind, const std::string& value) override;
  Status Release(int64_t attachment, ClaimKind kind, const std::string& value) override;
  Status ReleaseAll(int64_t attachment, ClaimKind kind) override;
  Result<std::optional<int64_t>> OwnerOf(ClaimKind kind, const std::string& value) override;
  Result<int64_t> RecordStep(int64_t attachment, const std::string& owner, const std::string& kind,
                             const std::string& detail) override;
  Status SetPending(int64_t step, const std::string& why) override;
  Status ForgetStep(int64_t step) override;
  Result<std::vector<Step>> Steps(int64_t attachment) override;
  Result<int64_t> Version() override;

  // The whole row, as a test wants it and no writer may write it.
  Status Put(const Attachment& attachment);

 private:
  struct Record {
    std::map<int64_t, Attachment> attachments;
    std::map<std::pair<ClaimKind, std::string>, int64_t> claims;
    std::map<int64_t, Step> steps;
    int64_t last_attachment = 0;
    int64_t last_step = 0;
    int64_t changes = 0;
  };

  void Changed();
  template <class Change>
  Status Set(int64_t id, Change change);
  Status NotDeleting(int64_t id);

  std::shared_ptr<Record> record_;
};

}  // namespace rail::state::testing
