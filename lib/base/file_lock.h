// A lock that processes hold together or alone; it goes with its owner, or with the process.
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
  // Never waits. The file is made when it is not there, and stays, empty. Errors: kBusy another holds it alone, or others do and
  // kAlone is wanted; kPermission, kNotFound the file cannot be made.
  static Result<FileLock> Get(const std::string& path, Kind kind);
  // Alone, of a folder that is there; waits for whoever has it. Errors: of open(2).
  static Result<FileLock> OfFolder(const std::string& folder);

 private:
  explicit FileLock(Fd file) : file_(std::move(file)) {}
  Fd file_;
};

}  // namespace rail
