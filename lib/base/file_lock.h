// A lock on a file, shared or exclusive (kAlone). It is released when its owner is destroyed, or when the process ends.
//
// Use:      RAIL_ASSIGN(FileLock lock, FileLock::Get(path, FileLock::Kind::kShared));  ...  lock = {};
// Threads:  one owner
// Owns:     an open file, and the lock on it
// Source:   flock(2)
#pragma once

#include <string>
#include <utility>

#include "lib/base/error.h"
#include "lib/base/fd.h"

namespace rail {

class FileLock {
 public:
  enum class Kind { kShared, kAlone };

  FileLock() = default;  // holds nothing
  // Locks the file at `path` without waiting. Creates the file if it does not exist; the empty file stays.
  // Errors: kBusy another holds the lock alone, or others share it and kAlone is wanted; kPermission, kNotFound the file cannot
  // be created.
  static Result<FileLock> Get(const std::string& path, Kind kind);
  // Locks a folder that exists, alone. Waits while another holds the lock. Errors: of open(2).
  static Result<FileLock> OfFolder(const std::string& folder);

 private:
  explicit FileLock(Fd file) : file_(std::move(file)) {}
  Fd file_;
};

}  // namespace rail
