#include "lib/base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <system_error>
#include <thread>

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

// flock(2) knows no deadline, so a thread waits for the lock. If it comes too late, the promise's value has no taker, and is
// unlocked with it. A lock whose holder hangs keeps its thread, so their number is bounded.
Result<FileLock> FileLock::Wait(const std::string& path, Deadline deadline) {
  static std::atomic<int> waiting{0};
  auto at_once = Get(path, Kind::kAlone);
  if (at_once || at_once.error().code != Code::kBusy) return at_once;
  if (waiting >= kMostWaiting) return at_once;
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  if (!file) return FailErrno(errno, "open " + path);
  std::promise<Result<FileLock>> promise;
  std::future<Result<FileLock>> locked = promise.get_future();
  ++waiting;
  try {
    std::thread([file = std::move(file), promise = std::move(promise), path]() mutable {
      Result<FileLock> lock = Locked(std::move(file), path);
      --waiting;
      promise.set_value(std::move(lock));
    }).detach();
  } catch (const std::system_error& e) {
    --waiting;
    return FailErrno(e.code().value(), "start a thread that waits for " + path);
  }
  if (locked.wait_until(deadline) == std::future_status::ready) return locked.get();
  return Fail(Code::kBusy, path + " stays locked by another process: `fuser -v " + path + "` names it");
}

Result<FileLock> FileLock::OfFolder(const std::string& folder) {
  Fd file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file) return FailErrno(errno, "open the folder " + folder);
  return Locked(std::move(file), "the folder " + folder);
}

Result<FileLock> FileLock::Locked(Fd file, const std::string& what) {
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return FailErrno(errno, "lock " + what);
  }
  return FileLock(std::move(file));
}

}  // namespace rail
