#include "lib/state/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "lib/base/fd.h"
#include "lib/base/file_lock.h"
#include "lib/base/folder.h"
#include "lib/base/timing.h"
#include "lib/state/schema.h"

namespace rail::state {
namespace {

namespace fs = std::filesystem;

constexpr int kCheckpointPages = 256;  // 1 MiB

// Makes an empty file with our mode: SQLite would make it readable for everyone, and gives its companion files the
// file's mode. Never opens a file that exists: closing it would drop the locks of another connection of this process.
Status MakeFile(const fs::path& path) {
  if (::access(path.c_str(), F_OK) == 0) return {};
  RAIL_TRY(MakeFolder(path.parent_path().string(), 0750));
  const Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
  if (!file && errno != EEXIST) return FailErrno(errno, "create the record " + path.string());
  return {};
}

}  // namespace

Statement::~Statement() {
  if (stmt_ == nullptr) return;
  sqlite3_reset(stmt_);
  sqlite3_clear_bindings(stmt_);
}

Statement& Statement::Bind(int64_t value) {
  sqlite3_bind_int64(stmt_, ++bound_, value);
  return *this;
}

Statement& Statement::Bind(std::string_view text) {
  // SQLite would bind NULL for a null pointer.
  const char* data = text.empty() ? "" : text.data();
  sqlite3_bind_text64(stmt_, ++bound_, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Result<bool> Statement::Step() {
  const Timed timed(Part::kRecord);
  const int rc = sqlite3_step(stmt_);
  if (rc == SQLITE_ROW) return true;
  if (rc == SQLITE_DONE) return false;
  return tl::make_unexpected(db_->Failure());
}

Status Statement::Run() {
  RAIL_ASSIGN(const bool row, Step());
  (void)row;  // a PRAGMA that sets something answers with a row
  sqlite3_reset(stmt_);
  return {};
}

int64_t Statement::Int(int column) const {
  return sqlite3_column_int64(stmt_, column);
}

std::string Statement::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(stmt_, column));
  if (text == nullptr) return {};
  return {text, static_cast<size_t>(sqlite3_column_bytes(stmt_, column))};
}

Result<std::unique_ptr<Database>> Database::Open(const std::string& path,
                                                 std::chrono::milliseconds lock_wait) {
  RAIL_TRY(MakeFile(path));
  std::unique_ptr<Database> db(new Database(path, lock_wait, Purpose::kWrite));
  RAIL_TRY_AS(db->Connect(), "open the record");
  return db;
}

Result<std::unique_ptr<Database>> Database::OpenAsItIs(const std::string& path,
                                                       std::chrono::milliseconds lock_wait) {
  std::unique_ptr<Database> db(new Database(path, lock_wait, Purpose::kRead));
  RAIL_TRY_AS(db->Connect(), "open the record to read it");
  return db;
}

// Closes first: a file that was emptied is still the one that this connection holds a lock on.
Status Database::OpenAgain() {
  is_open_ = false;
  Close();
  if (purpose_ == Purpose::kWrite) RAIL_TRY(MakeFile(path_));
  RAIL_TRY(Connect());
  is_open_ = true;
  return {};
}

bool Database::IsReplaced() const {
  if (!is_open_) return true;
  int moved = 0;
  if (sqlite3_file_control(db_, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0)
    return true;
  struct stat st{};
  return ::stat(path_.c_str(), &st) == 0 && st.st_size == 0;
}

void Database::Close() {
  const Timed timed(Part::kRecord);
  for (const auto& [unused, stmt] : statements_) sqlite3_finalize(stmt);
  statements_.clear();
  sqlite3_close(std::exchange(db_, nullptr));
}

Status Database::Connect() {
  const Timed timed(Part::kRecord);
  if (sqlite3_open_v2(path_.c_str(), &db_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                      nullptr) != SQLITE_OK) {
    return tl::make_unexpected(Failure());
  }
  // SQLite opens a file that it cannot write for reading only.
  if (purpose_ == Purpose::kWrite && sqlite3_db_readonly(db_, "main") == 1) {
    return Fail(Code::kPermission, path_ + ": cannot be written: is the file system mounted read-only?");
  }
  sqlite3_busy_timeout(db_, static_cast<int>(lock_wait_.count()));
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_FKEY, 1, nullptr);
  // The log stays when the last process closes the file. A checkpoint costs two fsyncs, and each plugin would pay them
  // on a node without a daemon. In exchange, the first process to open the file reads the log again, so the log is kept
  // short (FORMAT.md).
  sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_wal_autocheckpoint(db_, kCheckpointPages);

  RAIL_ASSIGN(int64_t version, FormatVersion());
  if (version == 0 && purpose_ == Purpose::kRead)
    return Fail(Code::kNotFound, path_ + ": holds no record yet");
  if (version == 0) {
    RAIL_TRY(CreateSchema());
    version = kFormatVersion;
  }
  if (version < kFormatVersion && purpose_ == Purpose::kRead) {
    return Fail(Code::kBusy,
                path_ + ": has format " + std::to_string(version) + " of an earlier RailCNI, which only " +
                    "a program that can write it brings to format " + std::to_string(kFormatVersion));
  }
  if (version < kFormatVersion) {
    RAIL_TRY(Migrate());
    version = kFormatVersion;
  }
  if (version != kFormatVersion) return tl::make_unexpected(NewerFormat(version));
  return Execute("PRAGMA synchronous = NORMAL");
}

Status Database::Execute(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return tl::make_unexpected(Failure());
  return {};
}

Result<int64_t> Database::FormatVersion() {
  RAIL_ASSIGN(Statement read, Prepare("PRAGMA user_version"));
  RAIL_ASSIGN(const bool row, read.Step());
  return row ? read.Int(0) : 0;
}

Status Database::CreateSchema() {
  // Only one process creates the tables at a time, because the change to WAL and the tables cannot be one transaction. The
  // lock is on the folder and ends with the process: if a creator dies, the next process finds a file of version 0.
  RAIL_ASSIGN(const FileLock lock, FileLock::OfFolder(fs::path(path_).parent_path().string()));
  RAIL_ASSIGN(const int64_t version, FormatVersion());
  if (version != 0) return {};
  RAIL_TRY(Execute("PRAGMA journal_mode = WAL"));
  return InTransaction([&]() -> Status {
    RAIL_TRY(Execute(kSchema));
    // Ids of a new record do not begin at 1. If an old one was lost, ports and rules of its attachments are still there, and no new
    // attachment may have the id of one of these.
    return Execute(
        "INSERT INTO sqlite_sequence (name, seq) VALUES ('attachment', (random() & 0x3fffff) | 0x400000)");
  });
}

Status Database::Migrate() {
  return InTransaction([&]() -> Status {
    RAIL_ASSIGN(const int64_t version,
                FormatVersion());  // another process may have migrated the file meanwhile
    if (version <= 1) RAIL_TRY(Execute(kFromFormat1));
    if (version <= 2) RAIL_TRY(Execute(kFromFormat2));
    return version <= 3 ? Execute(kFromFormat3) : Status();
  });
}

Error Database::NewerFormat(int64_t version) {
  std::string writer = "another version of RailCNI";
  if (auto read = Prepare("SELECT written_by FROM meta")) {
    if (auto row = read->Step(); row && *row) writer = "RailCNI " + read->Text(0);
  }
  return Error{Code::kUnsupported,
               path_ + ": has format " + std::to_string(version) + ", written by " + writer +
                   "; this is RailCNI " + std::string(kProductVersion) + ", which knows format " +
                   std::to_string(kFormatVersion) + ": install the newer version again",
               0};
}

Result<Statement> Database::Prepare(const char* sql) {
  const Timed timed(Part::kRecord);
  sqlite3_stmt*& stmt = statements_[sql];
  if (stmt == nullptr &&
      sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, nullptr) != SQLITE_OK) {
    return tl::make_unexpected(Failure());
  }
  return Statement(*this, stmt);
}

Status Database::Begin() {
  RAIL_ASSIGN(Statement begin, Prepare("BEGIN IMMEDIATE"));
  // A process that held the lock during the whole wait probably still holds it. Then wait less, because one DEL has many writes.
  sqlite3_busy_timeout(db_, static_cast<int>((stayed_locked_ ? lock_wait_ / 100 : lock_wait_).count()));
  auto begun = begin.Run();
  stayed_locked_ = !begun && begun.error().code == Code::kTransient;
  return begun;
}

Status Database::Commit() {
  RAIL_ASSIGN(Statement commit, Prepare("COMMIT"));
  auto done = commit.Run();
  if (!done) Rollback();
  return done;
}

void Database::Rollback() {
  // After some errors (disk full) SQLite has rolled back by itself.
  if (sqlite3_get_autocommit(db_) == 0)
    (void)Execute("ROLLBACK");  // nothing more can be done about an error here
}

int64_t Database::all_changed_rows() const {
  return sqlite3_total_changes64(db_);
}

int64_t Database::changed_rows() const {
  return sqlite3_changes64(db_);
}
int64_t Database::last_insert_id() const {
  return sqlite3_last_insert_rowid(db_);
}

Error Database::Failure() const {
  if (db_ == nullptr) return Error{Code::kTransient, path_ + ": out of memory", ENOMEM};
  const int extended = sqlite3_extended_errcode(db_);
  const int err = sqlite3_system_errno(db_);
  const auto error = [&](Code code, const std::string& why) { return Error{code, path_ + ": " + why, err}; };
  if (extended == SQLITE_CONSTRAINT_FOREIGNKEY)
    return error(Code::kNotFound, "no such attachment in the record");
  switch (extended & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return error(Code::kTransient, "stayed locked by another process for " +
                                         std::to_string(lock_wait_.count()) + " ms; `fuser -v " + path_ +
                                         "` names it");
    case SQLITE_FULL: return error(Code::kTransient, "the disk is full: free some space on its file system");
    case SQLITE_NOMEM: return error(Code::kTransient, "out of memory");
    case SQLITE_READONLY:
      if (extended == SQLITE_READONLY_DBMOVED) {
        return error(Code::kTransient, "was moved or deleted while it was open: try again");
      }
      return error(Code::kPermission, "cannot be written: is the file system mounted read-only?");
    case SQLITE_PERM:
    case SQLITE_AUTH: return error(Code::kPermission, sqlite3_errmsg(db_));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return error(Code::kDamaged,
                   std::string("is damaged or no SQLite file (") + sqlite3_errmsg(db_) + "); `sqlite3 " +
                       path_ +
                       " .recover` saves what can be read, see lib/state/FORMAT.md before you move it away");
    case SQLITE_CONSTRAINT: return error(Code::kExists, sqlite3_errmsg(db_));
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
      if (err != 0) return ErrnoError(err, path_ + ": " + sqlite3_errmsg(db_));
      return error(Code::kInternal, sqlite3_errmsg(db_));
    default: return error(Code::kInternal, sqlite3_errmsg(db_));
  }
}

}  // namespace rail::state
