#include "lib/poke/poke.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace rail::poke {
namespace {

Result<sockaddr_un> AddressOf(const std::string& path, const std::string& doing) {
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Fail(Code::kInvalid,
                doing + ": a socket's path has 1 to 107 bytes, this one has " + std::to_string(path.size()));
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Fd NewSocket() {
  return Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

const sockaddr* Generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// Removes a socket that nobody listens on any more.
Status RemoveStale(const std::string& path, const sockaddr_un& address, const std::string& doing) {
  struct stat file{};
  if (::lstat(path.c_str(), &file) != 0) return {};
  if (!S_ISSOCK(file.st_mode)) return Fail(Code::kExists, doing + ": something that is no socket is there");
  const Fd probe = NewSocket();
  if (!probe) return FailErrno(errno, doing);
  if (::connect(probe.get(), Generic(address), sizeof address) == 0) {
    return Fail(Code::kExists, doing + ": another raild listens on it");
  }
  if (errno != ECONNREFUSED && errno != ENOENT) return FailErrno(errno, doing);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return FailErrno(errno, doing + ": remove the old socket");
  return {};
}

}  // namespace

Result<PokeSocket> PokeSocket::Bind(const std::string& path) {
  const std::string doing = "listen for pokes on " + path;
  RAIL_ASSIGN(const sockaddr_un address, AddressOf(path, doing));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (::mkdir(folder.c_str(), 0750) != 0 && errno != EEXIST)
    return FailErrno(errno, doing + ": make the folder " + folder);
  RAIL_TRY(RemoveStale(path, address, doing));

  Fd fd = NewSocket();
  if (!fd) return FailErrno(errno, doing);
  // The mode of a socket before bind is what its file gets (less the umask), so that it is never open to more.
  if (::fchmod(fd.get(), 0660) != 0 || ::bind(fd.get(), Generic(address), sizeof address) != 0) {
    return FailErrno(errno, doing);
  }
  PokeSocket socket(std::move(fd), path);
  if (::chmod(path.c_str(), 0660) != 0) return FailErrno(errno, doing);
  return socket;
}

PokeSocket::~PokeSocket() {
  if (fd_) ::unlink(path_.c_str());
}

void PokeSocket::Drain() {
  char unused;
  while (::recv(fd_.get(), &unused, sizeof unused, MSG_DONTWAIT) >= 0 || errno == EINTR) {
  }
}

Status Poke(const std::string& path) {
  const std::string doing = "poke raild on " + path;
  RAIL_ASSIGN(const sockaddr_un address, AddressOf(path, doing));
  const Fd fd = NewSocket();
  if (!fd) return FailErrno(errno, doing);
  if (::sendto(fd.get(), nullptr, 0, MSG_DONTWAIT | MSG_NOSIGNAL, Generic(address), sizeof address) == 0)
    return {};
  switch (errno) {
    case ENOENT:
    case ECONNREFUSED:
    case EAGAIN:
    case ENOBUFS:
      return {};
    default:
      return FailErrno(errno, doing);
  }
}

}  // namespace rail::poke
