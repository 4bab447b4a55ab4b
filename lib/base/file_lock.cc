#include "lib/base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

namespace rail {

Result<FileLock> FileLock::Get(const std::string& path, Kind kind) {
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  if (!file) return FailErrno(errno, "open " + path);
  const int operation = (kind == Kind::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  while (::flock(file.get(), operation) != 0) {
    if (errno == EWOULDBLOCK) return Fail(Code::kBusy, path + " is locked by another process");
    if (errno != EINTR) return FailErrno(errno, "lock " + path);
  }
  return FileLock(std::move(file));
}

Result<FileLock> FileLock::OfFolder(const std::string& folder) {
  Fd file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file) return FailErrno(errno, "open the folder " + folder);
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return FailErrno(errno, "lock the folder " + folder);
  }
  return FileLock(std::move(file));
}

}  // namespace rail
