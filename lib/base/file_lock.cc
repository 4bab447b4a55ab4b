#include "lib/base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <atomic>
#include <cerrno>
#include <future>

#include "lib/base/thread.h"

namespace rail {

namespace {

int Operation(FileLock::Kind kind) {
  return kind == FileLock::Kind::kShared ? LOCK_SH : LOCK_EX;
}

}  // namespace

Result<FileLock> FileLock::Get(const std::string& path, Kind kind) {
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  if (!file) return FailErrno(errno, "open " + path);
  while (::flock(file.get(), Operation(kind) | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return Fail(Code::kBusy, path + " is locked by another process");
    if (errno != EINTR) return FailErrno(errno, "lock " + path);
  }
  return FileLock(std::move(file));
}

// flock(2) knows no deadline, so a thread waits for the lock. If it comes too late, the promise's value has no taker, and is
// unlocked with it. A lock whose holder hangs keeps its thread, so their number is bounded.
Result<FileLock> FileLock::Wait(const std::string& path, Kind kind, Deadline deadline) {
  static std::atomic<int> waiting{0};
  auto at_once = Get(path, kind);
  if (at_once || at_once.error().code != Code::kBusy) return at_once;
  if (waiting >= kMostWaiting || Clock::now() >= deadline) return at_once;
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  if (!file) return FailErrno(errno, "open " + path);
  std::promise<Result<FileLock>> promise;
  std::future<Result<FileLock>> locked = promise.get_future();
  ++waiting;
  auto waits = StartThread([file = std::move(file), promise = std::move(promise), kind, path]() mutable {
    Result<FileLock> lock = Locked(std::move(file), kind, path);
    --waiting;
    promise.set_value(std::move(lock));
  });
  if (!waits) {
    --waiting;
    return FailWrapped(waits.error(), "wait for " + path);
  }
  waits->detach();
  if (locked.wait_until(deadline) == std::future_status::ready) return locked.get();
  return Fail(Code::kBusy, path + " stays locked by another process: `fuser -v " + path + "` names it");
}

Result<FileLock> FileLock::OfFolder(const std::string& folder) {
  Fd file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file) return FailErrno(errno, "open the folder " + folder);
  return Locked(std::move(file), Kind::kAlone, "the folder " + folder);
}

Result<FileLock> FileLock::Locked(Fd file, Kind kind, const std::string& what) {
  while (::flock(file.get(), Operation(kind)) != 0) {
    if (errno != EINTR) return FailErrno(errno, "lock " + what);
  }
  return FileLock(std::move(file));
}

}  // namespace rail
