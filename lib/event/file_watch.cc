#include "lib/event/file_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

namespace rail::event {

namespace {

constexpr uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR;

}  // namespace

Result<FileWatch> FileWatch::Open(const std::string& path) {
  return OpenFor(path, kEvents);
}

Result<FileWatch> FileWatch::OpenForSocket(const std::string& path) {
  return OpenFor(path, kEvents | IN_CREATE);
}

Result<FileWatch> FileWatch::OpenFor(const std::string& path, uint32_t events) {
  const size_t slash = path.rfind('/');
  const std::string doing = "watch " + path;
  if (!path.starts_with('/') || slash + 1 == path.size())
    return Fail(Code::kInvalid, doing + ": the absolute path of a file is needed");
  const std::string folder = slash == 0 ? "/" : path.substr(0, slash);
  Fd fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!fd) return FailErrno(errno, doing);
  if (::inotify_add_watch(fd.get(), folder.c_str(), events) < 0) return FailErrno(errno, doing);
  return FileWatch(std::move(fd), path.substr(slash + 1));
}

bool FileWatch::Drain() {
  bool changed = false;
  alignas(inotify_event) std::array<char, 16 * (sizeof(inotify_event) + NAME_MAX + 1)> buffer;
  for (;;) {
    const ssize_t got = ::read(fd_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return changed;
    for (ssize_t at = 0; at < got;) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      // The kernel fills the name up with zeros.
      const char* name = buffer.data() + at + sizeof event;
      const bool ours = event.len > 0 && name_ == name;
      if (ours || (event.mask & (IN_Q_OVERFLOW | IN_IGNORED)) != 0) changed = true;
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
}

}  // namespace rail::event
