#include "cmd/railctl/accept/echo_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>

namespace rail::accept {
namespace {

constexpr uint32_t kQuestion = 0x52414951;
constexpr uint32_t kAnswer = 0x52414941;

}  // namespace

EchoHeader Question(uint32_t sequence, int64_t sent_ns) {
  return {kQuestion, sequence, sent_ns};
}

EchoHeader AnswerTo(const EchoHeader& question) {
  return {kAnswer, question.sequence, question.sent_ns};
}

bool TurnToAnswer(char* datagram, size_t size) {
  EchoHeader header;
  if (size < sizeof header) return false;
  std::memcpy(&header, datagram, sizeof header);
  if (header.kind != kQuestion) return false;
  header = AnswerTo(header);
  std::memcpy(datagram, &header, sizeof header);
  return true;
}

Result<Fd> OpenUdp(int family, const std::string& interface) {
  Fd fd(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto failed = [&] { return FailErrno(errno, "open a UDP socket on " + interface); };
  if (!fd) return failed();
  const auto set = [&](int level, int option, int value) {
    return ::setsockopt(fd.get(), level, option, &value, sizeof value) == 0;
  };
  const bool whole = family == AF_INET
                         ? set(IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
                         : set(IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO) &&
                               set(IPPROTO_IPV6, IPV6_DONTFRAG, 1) && set(IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (!whole || ::setsockopt(fd.get(), SOL_SOCKET, SO_BINDTODEVICE, interface.data(),
                             static_cast<socklen_t>(interface.size())) != 0)
    return failed();
  return fd;
}

sockaddr_storage ToSocketAddress(int family, std::string_view bytes, uint16_t port, int interface) {
  sockaddr_storage storage{};
  storage.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET) {
    auto* address = reinterpret_cast<sockaddr_in*>(&storage);
    address->sin_port = htons(port);
    bytes.copy(reinterpret_cast<char*>(&address->sin_addr), sizeof address->sin_addr);
  } else {
    auto* address = reinterpret_cast<sockaddr_in6*>(&storage);
    address->sin6_port = htons(port);
    address->sin6_scope_id = static_cast<uint32_t>(interface);  // of a link-local address
    bytes.copy(reinterpret_cast<char*>(&address->sin6_addr), sizeof address->sin6_addr);
  }
  return storage;
}

}  // namespace rail::accept
