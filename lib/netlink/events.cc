#include "lib/netlink/events.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <cerrno>

namespace rail::netlink {

Result<bool> ReceiveEvents(int fd, std::span<char> buffer, std::string_view doing,
                           const std::function<void(std::string_view datagram)>& each) {
  bool lost = false;
  for (;;) {
    sockaddr_nl from{};
    socklen_t from_size = sizeof from;
    const ssize_t n = ::recvfrom(fd, buffer.data(), buffer.size(), MSG_DONTWAIT,
                                 reinterpret_cast<sockaddr*>(&from), &from_size);
    if (n >= 0) {
      if (from.nl_pid == 0) each({buffer.data(), static_cast<size_t>(n)});
    } else if (errno == ENOBUFS) {
      lost = true;
    } else if (errno == EAGAIN) {
      return lost;
    } else if (errno != EINTR) {
      return FailErrno(errno, doing);
    }
  }
}

}  // namespace rail::netlink
