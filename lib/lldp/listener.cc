#include "lib/lldp/listener.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace rail::lldp {
namespace {

constexpr std::array<uint8_t, 6> kNearestBridge = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e};
constexpr int kBuffer = 32 << 10;  // bytes: a neighbour sends a frame of some 300 bytes every 30 s
constexpr int kMostAtOnce = 16;    // frames: one that sends without end keeps nobody waiting

}  // namespace

// Open vSwitch takes every frame of an uplink before the kernel looks for a protocol's own sockets: only one for all protocols hears it.
Result<Listener> Listener::Open(const std::string& link) {
  const auto failed = [&] { return FailErrno(errno, "hear LLDP on " + link); };
  const unsigned index = ::if_nametoindex(link.c_str());
  if (index == 0) return failed();
  // Protocol 0: it hears nothing until it is bound, with its filter in place.
  Fd fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return failed();
  std::array<sock_filter, 4> program = {{
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kEtherType, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, kMostFrame + 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
  }};
  const sock_fprog filter{program.size(), program.data()};
  const int yes = 1;
  packet_mreq group{};
  group.mr_ifindex = static_cast<int>(index);
  group.mr_type = PACKET_MR_MULTICAST;
  group.mr_alen = kNearestBridge.size();
  std::ranges::copy(kNearestBridge, group.mr_address);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(index);
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0 ||
      ::setsockopt(fd.get(), SOL_SOCKET, SO_LOCK_FILTER, &yes, sizeof yes) != 0 ||
      ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kBuffer, sizeof kBuffer) != 0 ||
      ::setsockopt(fd.get(), SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes) != 0 ||
      ::setsockopt(fd.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &group, sizeof group) != 0 ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return failed();
  }
  return Listener(std::move(fd), static_cast<int>(index));
}

Result<std::optional<Neighbour>> Listener::Receive() {
  std::optional<Neighbour> last;
  std::array<char, kMostFrame + 1> frame;
  for (int i = 0; i < kMostAtOnce; ++i) {
    const ssize_t size = ::recv(fd_.get(), frame.data(), frame.size(), MSG_DONTWAIT);
    if (size < 0) {
      if (errno == EAGAIN) break;
      // The link went down: said once, and the socket hears on when it is up again.
      if (errno == EINTR || errno == ENETDOWN) continue;
      return FailErrno(errno, "hear LLDP");
    }
    auto neighbour = Parse({frame.data(), static_cast<size_t>(size)});
    if (neighbour) last = std::move(*neighbour);
  }
  return last;
}

}  // namespace rail::lldp
