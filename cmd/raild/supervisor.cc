#include "cmd/raild/supervisor.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "lib/base/fd.h"
#include "lib/base/parse.h"

namespace rail::raild {
namespace {

std::string Take(const char* name) {
  const char* value = std::getenv(name);
  std::string taken = value == nullptr ? "" : value;
  ::unsetenv(name);
  return taken;
}

}  // namespace

Supervisor Supervisor::FromEnvironment() {
  Supervisor supervisor;
  supervisor.socket_ = Take("NOTIFY_SOCKET");
  const int64_t usec = Number<int64_t>(Take("WATCHDOG_USEC")).value_or(0);
  const std::string pid = Take("WATCHDOG_PID");
  if (usec > 0 && (pid.empty() || Number<int64_t>(pid) == ::getpid()))
    supervisor.watchdog_ = std::chrono::microseconds(usec);
  return supervisor;
}

void Supervisor::Tell(const std::string& state) const {
  sockaddr_un address{};
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return;
  (void)::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&address),
                 size);
}

}  // namespace rail::raild
