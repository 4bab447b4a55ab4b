#include "lib/frr/config_rest.h"

#include <sys/socket.h>

#include <functional>
#include <utility>

#include "lib/base/socket.h"
#include "lib/frr/vty.h"

namespace rail::frr {
namespace {

constexpr std::chrono::seconds kAnswer{5};

}  // namespace

std::optional<pid_t> ConfigRest::Daemon() const {
  const auto stream = UnixStream::Connect(socket_, After(kAnswer));
  if (!stream) return std::nullopt;
  struct ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(stream->fd(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer.pid;
}

bool ConfigRest::IsSameDaemon() const {
  return daemon_ && Daemon() == daemon_;
}

bool ConfigRest::IsAtRest() {
  const auto text = [&]() -> Result<std::string> {
    RAIL_ASSIGN(Vty vty, Vty::Open(socket_, After(kAnswer)));
    return vty.Show("show running-config", After(kAnswer));
  }();
  std::optional<size_t> now;
  if (text) now = std::hash<std::string>()(*text);
  return std::exchange(seen_, now) == now || !now;
}

}  // namespace rail::frr
