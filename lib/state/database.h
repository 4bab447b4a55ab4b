// A SQLite file. Opens it with our settings, prepares each statement once, and returns Result with errors as sentences.
//
// Use:      RAIL_ASSIGN(auto db, Database::Open(path, std::chrono::seconds(10)));
//           RAIL_ASSIGN(Statement find, db->Prepare("SELECT a FROM t WHERE b = ?"));   // a literal: the cache's key
//           RAIL_ASSIGN(bool row, find.Bind(value).Step());
//           RAIL_TRY(db->Begin());  ...  RAIL_TRY(db->Commit());
// Threads:  one at a time; never carried over a fork
// Owns:     the connection and its statements; a Statement must not outlive its Database
// Source:   https://sqlite.org/wal.html, https://sqlite.org/pragma.html; FORMAT.md
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "lib/base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace rail::state {

class Database;

// One execution of a prepared statement. Columns count from 0. Bind binds the parameters in order.
class Statement {
 public:
  Statement(Database& db, sqlite3_stmt* stmt) : db_(&db), stmt_(stmt) {}
  Statement(Statement&& other) noexcept
      : db_(other.db_), stmt_(std::exchange(other.stmt_, nullptr)), bound_(other.bound_) {}
  ~Statement();

  Statement& Bind(int64_t value);
  Statement& Bind(std::string_view text);
  // Goes to the next row. False: the statement has ended. Errors: as Database::Failure.
  Result<bool> Step();
  // Runs a statement without rows to its end. Errors: as Database::Failure.
  Status Run();

  int64_t Int(int column) const;
  std::string Text(int column) const;

 private:
  Database* db_;
  sqlite3_stmt* stmt_;
  int bound_ = 0;
};

class Database {
 public:
  // Opens or creates (file 0640, missing folders 0750) the record at `path`. `lock_wait` is how long any later call
  // waits for the lock of another process. Any number of processes may create it at once.
  // Errors: kPermission the file or its file system cannot be written; kTransient locked, disk full; kUnsupported
  //         written by a newer version (the message names it); kInternal damaged, or not a record of ours.
  static Result<std::unique_ptr<Database>> Open(const std::string& path, std::chrono::milliseconds lock_wait);
  // Opens the record for reading, even where it cannot be written (a read-only file system). Creates nothing; writes fail.
  // Errors: as Open; also kNotFound; kBusy it has an earlier format, until somebody has opened it for writing.
  static Result<std::unique_ptr<Database>> OpenAsItIs(const std::string& path,
                                                      std::chrono::milliseconds lock_wait);
  ~Database() { Close(); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Closes the file and opens the path once more, in the same way. No Statement may be in use. After an error every call
  // fails, IsReplaced says true, and this may be called again. Errors: as Open.
  Status OpenAgain();
  // Whether another file is at the path by now, or none, or the file was emptied: this connection still reads the old one.
  // Source: SQLITE_FCNTL_HAS_MOVED, https://sqlite.org/c3ref/c_fcntl_begin_atomic_write.html
  bool IsReplaced() const;

  // `sql` is a literal: its address is the key of the cache.
  Result<Statement> Prepare(const char* sql);

  // BEGIN IMMEDIATE: takes the write lock at once, so that no other process changes what is read after it.
  Status Begin();
  Status Commit();
  void Rollback();
  // Runs `body` as one transaction. Commits when `body` succeeds.
  template <class Body>
  auto InTransaction(Body body) -> decltype(body()) {
    RAIL_TRY(Begin());
    auto result = body();
    if (!result) {
      Rollback();
      return result;
    }
    RAIL_TRY(Commit());
    return result;
  }

  int64_t changed_rows() const;      // by the last statement
  int64_t all_changed_rows() const;  // by this connection, so far
  int64_t last_insert_id() const;

  // The error of the last call, with a message for people: kTransient (locked, disk full, out of memory), kPermission
  // (read-only), kNotFound (a foreign key names no row), kExists (a unique value exists already), kInternal (damaged,
  // or our own mistake).
  Error Failure() const;

 private:
  enum class Purpose { kWrite, kRead };
  Database(std::string path, std::chrono::milliseconds lock_wait, Purpose purpose)
      : path_(std::move(path)), lock_wait_(lock_wait), purpose_(purpose) {}
  Status Connect();
  void Close();
  Status Execute(const char* sql);
  Result<int64_t> FormatVersion();
  Status CreateSchema();
  Status Migrate();
  Error NewerFormat(int64_t version);

  std::string path_;
  std::chrono::milliseconds lock_wait_;
  Purpose purpose_;
  bool stayed_locked_ = false;  // the last Begin did not get the lock
  bool is_open_ = true;         // OpenAgain has not failed
  sqlite3* db_ = nullptr;
  std::map<const char*, sqlite3_stmt*> statements_;
};

}  // namespace rail::state
