// The record in one SQLite file that any number of processes share.
//
// Use:      RAIL_ASSIGN(auto store, Sqlite::Open(paths.state_file));
// Threads:  one at a time; never carried over a fork
// Owns:     the connection
// Source:   FORMAT.md of this folder
#pragma once

#include <chrono>
#include <memory>

#include "lib/state/database.h"
#include "lib/state/store.h"

namespace rail::state {

class Sqlite : public Store {
 public:
  // Opens the record; creates it and its folder when they do not exist. Every call of the store waits up to 10 s for
  // the lock of another process. Errors (of this and of every call): kTransient locked, disk full; kPermission
  // read-only; kUnsupported (Open) written by a newer version; kInternal damaged.
  static Result<std::unique_ptr<Store>> Open(const std::string& path) {
    return OpenWaiting(path, std::chrono::seconds(10));
  }
  // Opens the record even where it cannot be written; then every write fails. Creates nothing.
  static Result<std::unique_ptr<Store>> OpenAsItIs(const std::string& path) {
    RAIL_ASSIGN(auto db, Database::OpenAsItIs(path, std::chrono::seconds(10)));
    return std::unique_ptr<Store>(new Sqlite(std::move(db)));
  }
  // Like Open, with another time to wait for the lock.
  static Result<std::unique_ptr<Store>> OpenWaiting(const std::string& path,
                                                    std::chrono::milliseconds lock_wait);

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

 private:
  explicit Sqlite(std::unique_ptr<Database> db) : db_(std::move(db)) {}
  // As Database::InTransaction, with `doing` in front of an error.
  template <class Body>
  auto InTransaction(const std::string& doing, Body body) -> decltype(body());
  // Runs one statement as a transaction. `values`: its parameters, in order.
  template <class... Values>
  Status RunOne(const std::string& doing, const char* sql, const Values&... values);
  Result<int64_t> Insert(const Attachment& draft);
  // Sets columns of one row. `sql` ends in "WHERE id = ?"; Set binds the id, `bind` the other parameters.
  enum class Unless { kNever, kDeleting };
  template <class Bind>
  Status Set(int64_t id, const char* what, Unless unless, const char* sql, Bind bind);
  Status NotDeleting(int64_t attachment);
  Status Take(int64_t attachment, ClaimKind kind, const std::string& value);

  std::unique_ptr<Database> db_;
  int64_t versions_before_ = 0;  // so that no version of a record that was replaced comes again
};

}  // namespace rail::state
