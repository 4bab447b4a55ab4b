// A Store that lets a test stop the process at every point between two effects.
//
// Use:      CrashStore store(std::move(real), {.at = k, .crash = [](const auto&) { ::_exit(137); }});
//           ... run the verb in a child; count the points of a whole run with at = 0 and points() ...
// Threads:  one at a time
// Owns:     the store inside
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/state/store.h"

namespace rail::state::testing {

// Every write (Create, Set..., Remove, Claim, Release, RecordStep, ForgetStep) has two points:
// just before it, when the effects made since the last write are in no newer record (odd numbers, from 1),
// and just after it, when the effect it announces has not been made (even numbers).
struct CrashPlan {
  int at = 0;  // the point; 0: never
  // Gets the point's name ("before RecordStep port"). May exit or throw; if it returns, the store goes on.
  std::function<void(const std::string& point)> crash;
};

class CrashStore : public Store {
 public:
  CrashStore(std::unique_ptr<Store> inner, CrashPlan plan)
      : inner_(std::move(inner)), plan_(std::move(plan)) {}

  int points() const { return points_; }  // passed so far

  Result<Attachment> Create(const Attachment& draft) override;
  Result<std::optional<Attachment>> Find(const AttachmentKey& key) override { return inner_->Find(key); }
  Result<std::vector<Attachment>> List() override { return inner_->List(); }
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
  Result<std::optional<int64_t>> OwnerOf(ClaimKind kind, const std::string& value) override {
    return inner_->OwnerOf(kind, value);
  }
  Result<int64_t> RecordStep(int64_t attachment, const std::string& owner, const std::string& kind,
                             const std::string& detail) override;
  Status SetPending(int64_t step, const std::string& why) override;
  Status ForgetStep(int64_t step) override;
  Result<std::vector<Step>> Steps(int64_t attachment) override { return inner_->Steps(attachment); }
  Result<int64_t> Version() override { return inner_->Version(); }

 private:
  void Pass(const char* when, const std::string& what);
  template <class Write>
  auto Around(const std::string& what, Write write) {
    Pass("before ", what);
    auto result = write();
    Pass("after ", what);
    return result;
  }

  std::unique_ptr<Store> inner_;
  CrashPlan plan_;
  int points_ = 0;
};

}  // namespace rail::state::testing
