#include "lib/base/socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rail {

Result<UnixStream> UnixStream::Connect(const std::string& path, Deadline deadline) {
  const std::string doing = "connect to " + path;
  sockaddr_un address{};
  // A path that begins with a zero byte is a name in the abstract namespace, where anybody may listen.
  if (path.find('\0') != std::string::npos)
    return Fail(Code::kInvalid, doing + ": the path holds a zero byte");
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Fail(Code::kInvalid,
                doing + ": a socket's path has 1 to 107 bytes, this one has " + std::to_string(path.size()));
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);

  UnixStream stream(Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), path);
  if (!stream.fd_) return FailErrno(errno, doing);
  // A unix socket connects at once, or fails with EAGAIN while the listener's backlog is full: then try again later.
  while (::connect(stream.fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return FailErrno(errno, doing);
    if (Clock::now() >= deadline) return Fail(Code::kTransient, doing + ": the listener's queue stays full");
    ::poll(nullptr, 0, 1);
  }
  return stream;
}

Status UnixStream::Wait(short events, Deadline deadline, std::string_view doing) const {
  pollfd p{fd_.get(), events, 0};
  for (;;) {
    const int n = ::poll(&p, 1, PollTimeout(deadline));
    if (n > 0) return {};
    if (n < 0 && errno != EINTR) return FailErrno(errno, std::string(doing) + " " + path_);
    if (n == 0 && Clock::now() >= deadline) {
      return Fail(Code::kTransient, std::string(doing) + " " + path_ + ": no answer in time");
    }
  }
}

Status UnixStream::Write(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      RAIL_TRY(Wait(POLLOUT, deadline, "write to"));
    } else if (errno != EINTR) {
      return FailErrno(errno, "write to " + path_);
    }
  }
  return {};
}

Result<size_t> UnixStream::Read(std::span<char> buffer, Deadline deadline) {
  for (;;) {
    const ssize_t n = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (n >= 0) return static_cast<size_t>(n);
    if (errno == EAGAIN) {
      RAIL_TRY(Wait(POLLIN, deadline, "read from"));
    } else if (errno != EINTR) {
      return FailErrno(errno, "read from " + path_);
    }
  }
}

}  // namespace rail
