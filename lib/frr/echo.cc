#include "lib/frr/echo.h"

#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/base/fd.h"

namespace rail::frr {
namespace {

constexpr size_t kIpv6Header = 40;
constexpr int kTries = 3;

sockaddr_in6 To(const EchoPeer& peer) {
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_scope_id = ::if_nametoindex(peer.interface.c_str());
  const auto bytes = peer.address.bytes();
  std::memcpy(&to.sin6_addr, bytes.data(), std::min(bytes.size(), sizeof to.sin6_addr));
  return to;
}

// Says by its number whose answer it is: two for each peer, the small one first.
class Requests {
 public:
  Requests(const std::vector<EchoPeer>& peers, int fd)
      : peers_(peers), fd_(fd), id_(static_cast<uint16_t>(::getpid())), answers_(peers.size()) {}

  void Send() const {
    for (size_t i = 0; i < peers_.size(); ++i) {
      if (!answers_[i].small) SendOne(i, false);
      if (!answers_[i].full) SendOne(i, true);
    }
  }

  void Take() {
    std::vector<char> packet(1 << 16);
    sockaddr_in6 from{};
    for (;;) {
      socklen_t length = sizeof from;
      const ssize_t bytes = ::recvfrom(fd_, packet.data(), packet.size(), MSG_DONTWAIT,
                                       reinterpret_cast<sockaddr*>(&from), &length);
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes < static_cast<ssize_t>(sizeof(icmp6_hdr))) return;
      icmp6_hdr header{};
      std::memcpy(&header, packet.data(), sizeof header);
      const size_t number = ntohs(header.icmp6_seq);
      if (ntohs(header.icmp6_id) != id_ || number / 2 >= peers_.size()) continue;
      const EchoPeer& peer = peers_[number / 2];
      const sockaddr_in6 to = To(peer);
      const bool whole = static_cast<size_t>(bytes) + kIpv6Header == Size(peer, number % 2 == 1);
      if (!whole || from.sin6_scope_id != to.sin6_scope_id ||
          std::memcmp(&from.sin6_addr, &to.sin6_addr, sizeof to.sin6_addr) != 0)
        continue;
      (number % 2 == 1 ? answers_[number / 2].full : answers_[number / 2].small) = true;
    }
  }

  bool complete() const {
    return std::ranges::all_of(answers_, [](const EchoAnswer& a) { return a.small && a.full; });
  }
  const std::vector<EchoAnswer>& answers() const { return answers_; }

 private:
  static size_t Size(const EchoPeer& peer, bool full) { return full ? peer.size : kSmallEcho; }

  // A packet that cannot be sent (too large for the interface, no such interface) is one that is not answered.
  void SendOne(size_t peer, bool full) const {
    std::vector<char> packet(Size(peers_[peer], full) - kIpv6Header);
    icmp6_hdr header{};
    header.icmp6_type = ICMP6_ECHO_REQUEST;  // the kernel writes the checksum
    header.icmp6_id = htons(id_);
    header.icmp6_seq = htons(static_cast<uint16_t>(2 * peer + (full ? 1 : 0)));
    std::memcpy(packet.data(), &header, sizeof header);
    const sockaddr_in6 to = To(peers_[peer]);
    ::sendto(fd_, packet.data(), packet.size(), MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&to),
             sizeof to);
  }

  const std::vector<EchoPeer>& peers_;
  const int fd_;
  const uint16_t id_;
  std::vector<EchoAnswer> answers_;
};

}  // namespace

Result<std::vector<EchoAnswer>> Echo(const std::vector<EchoPeer>& peers, Deadline deadline) {
  const auto failed = [] { return FailErrno(errno, "ask leaves for an echo"); };
  Fd fd(::socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6));
  if (!fd) return failed();
  icmp6_filter replies;
  ICMP6_FILTER_SETBLOCKALL(&replies);
  ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &replies);
  const int on = 1;
  if (::setsockopt(fd.get(), IPPROTO_ICMPV6, ICMP6_FILTER, &replies, sizeof replies) != 0 ||
      ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_DONTFRAG, &on, sizeof on) != 0) {
    return failed();
  }
  Requests requests(peers, fd.get());
  const auto slice = std::max<Clock::duration>(deadline - Clock::now(), Clock::duration::zero()) / kTries;
  for (int i = 0; i < kTries && !requests.complete(); ++i) {
    requests.Send();
    const Deadline until = i + 1 == kTries ? deadline : Clock::now() + slice;
    while (!requests.complete()) {
      const int left = PollTimeout(until);
      if (left == 0) break;
      pollfd readable{fd.get(), POLLIN, 0};
      if (::poll(&readable, 1, left) < 0 && errno != EINTR) return failed();
      requests.Take();
    }
  }
  return requests.answers();
}

}  // namespace rail::frr
