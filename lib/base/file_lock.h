// A lock on a file, shared or exclusive (kAlone). It is released when its owner is destroyed, or when the process ends.
//
// Use:      RAIL_ASSIGN(FileLock lock, FileLock::Get(path, FileLock::Kind::kShared));  ...  lock = {};
// Threads:  one owner
// Owns:     an open file, and the lock on it
// Source:   flock(2)
#pragma once

#include <string>
#include <utility>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"

namespace rail {

class FileLock {
 public:
  enum class Kind { kShared, kAlone };
  static constexpr int kMostWaiting = 16;

  FileLock() = default;  // holds nothing
  // Locks the file at `path` without waiting. Creates the file if it does not exist; the empty file stays.
  // Errors: kBusy another holds the lock alone, or others share it and kAlone is wanted; kPermission, kNotFound the file cannot
  // be created.
  static Result<FileLock> Get(const std::string& path, Kind kind);
  // Locks as Get, but waits for the lock until `deadline`; not at all if that has passed. Errors: as Get; kBusy the deadline has
  // passed, or kMostWaiting others of this process wait for a lock already, most of them in vain.
  static Result<FileLock> Wait(const std::string& path, Kind kind, Deadline deadline);
  explicit operator bool() const { return static_cast<bool>(file_); }  // something is held

  // Locks a folder that exists, alone. Waits while another holds the lock. Errors: of open(2).
  static Result<FileLock> OfFolder(const std::string& folder);

 private:
  // Waits, however long it takes.
  static Result<FileLock> Locked(Fd file, Kind kind, const std::string& what);
  explicit FileLock(Fd file) : file_(std::move(file)) {}
  Fd file_;
};

}  // namespace rail
