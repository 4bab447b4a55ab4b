#include "cmd/railctl/accept/frames.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <set>
#include <string_view>
#include <utility>

namespace rail::accept {
namespace {

constexpr uint64_t kShortest = ETH_HLEN;
constexpr uint64_t kLongest = 9700;
constexpr uint64_t kMostFrames = 10'000;
constexpr uint64_t kMostRounds = 1000;
constexpr uint64_t kMostMarks = 64;
constexpr size_t kShown = 128;               // bytes of the newest frame
constexpr size_t kLargestJoined = 64 << 10;  // bytes: a NIC and the kernel join TCP segments
constexpr int kBuffer = 16 << 20;            // bytes: 10,000 frames of 1,500 that come in at once
constexpr int kMostAtOnce = 256;  // frames: one that sends without end keeps no other from being heard

// `protocol` 0: it hears nothing.
Result<Fd> OpenPacket(std::string_view key, const std::string& interface, uint16_t protocol) {
  RAIL_ASSIGN(const int index, InterfaceIndex(key, interface));
  const auto failed = [&] {
    return FailErrno(errno, "open a packet socket on " + interface + " (it needs CAP_NET_RAW)");
  };
  Fd fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return failed();
  if (protocol != 0) {
    const int yes = 1;
    if (::setsockopt(fd.get(), SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes) != 0) return failed();
    // Beyond the limit of net.core.rmem_max only root of the machine may go.
    if (::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kBuffer, sizeof kBuffer) != 0) {
      (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kBuffer, sizeof kBuffer);
    }
  }
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(protocol);
  address.sll_ifindex = index;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return failed();
  return fd;
}

// Whether the kernel has taken it.
Result<bool> SendOne(const Fd& socket, const std::string& frame, const std::string& interface,
                     const Wake& end) {
  for (;;) {
    if (end.given()) return CallEnded();
    if (::send(socket.get(), frame.data(), frame.size(), 0) >= 0) return true;
    if (errno == ENOBUFS) return false;
    if (errno == EMSGSIZE) {
      return Fail(Code::kInvalid, "frames: one of " + std::to_string(frame.size()) +
                                      " bytes is longer than the MTU of " + interface + " allows");
    }
    if (errno != EAGAIN && errno != EINTR) return FailErrno(errno, "send a frame on " + interface);
    std::array<pollfd, 2> events = {{PollIn(end), {.fd = socket.get(), .events = POLLOUT, .revents = 0}}};
    RAIL_TRY(WaitFor(events, {}));
  }
}

}  // namespace

Result<uint32_t> SendFrames(const v1::SendFramesRequest& request, const Wake& end) {
  RAIL_TRY(InRange("rounds", request.rounds(), 0, kMostRounds));
  RAIL_TRY(InRange("frames: their number", static_cast<uint64_t>(request.frames_size()), 1, kMostFrames));
  for (const std::string& frame : request.frames())
    RAIL_TRY(InRange("frames: the length of one", frame.size(), kShortest, kLongest));
  RAIL_ASSIGN(const Fd socket, OpenPacket("interface", request.interface(), 0));
  uint32_t sent = 0;
  for (uint32_t round = 0; round < std::max(request.rounds(), 1U); ++round) {
    for (const std::string& frame : request.frames()) {
      RAIL_ASSIGN(const bool taken, SendOne(socket, frame, request.interface(), end));
      sent += taken ? 1 : 0;
    }
  }
  return sent;
}

Result<FrameWatch> FrameWatch::Open(const v1::WatchFramesRequest& request) {
  RAIL_TRY(InRange("marks: their number", static_cast<uint64_t>(request.marks_size()), 1, kMostMarks));
  RAIL_TRY(
      InRange("interfaces: their number", static_cast<uint64_t>(request.interfaces_size()), 1, UINT32_MAX));
  FrameWatch watch;
  for (const std::string& mark : request.marks()) {
    RAIL_TRY(InRange("marks: the length of one", mark.size(), 8, 64));
    watch.marks_.push_back(mark);
    watch.counts_.add_counts();
  }
  for (const std::string& interface : std::set(request.interfaces().begin(), request.interfaces().end())) {
    RAIL_ASSIGN(Fd fd, OpenPacket("interfaces", interface, ETH_P_ALL));
    watch.sockets_.push_back({std::move(fd), interface});
  }
  watch.buffer_.resize(kLargestJoined);
  return watch;
}

std::vector<pollfd> FrameWatch::Events(const Wake& end, const Wake& more) const {
  std::vector<pollfd> events = {PollIn(end), PollIn(more)};
  for (const Socket& socket : sockets_)
    events.push_back({.fd = socket.fd.get(), .events = POLLIN, .revents = 0});
  return events;
}

Result<bool> FrameWatch::Take() {
  bool changed = false;
  for (const Socket& socket : sockets_) {
    for (int i = 0; i < kMostAtOnce; ++i) {
      const ssize_t size = ::recv(socket.fd.get(), buffer_.data(), buffer_.size(), 0);
      if (size < 0 && errno == EAGAIN) break;
      // The link went down: said once, and the socket hears on when it is up again.
      if (size < 0 && (errno == EINTR || errno == ENETDOWN)) continue;
      if (size < 0) return FailErrno(errno, "hear frames on " + socket.interface);
      changed |= Count({buffer_.data(), static_cast<size_t>(size)}, socket.interface);
    }
  }
  return changed;
}

bool FrameWatch::Count(std::string_view frame, const std::string& interface) {
  bool counted = false;
  for (size_t i = 0; i < marks_.size(); ++i) {
    if (frame.find(marks_[i]) == std::string_view::npos) continue;
    v1::WatchFramesResponse::Count& count = *counts_.mutable_counts(static_cast<int>(i));
    count.set_frames(count.frames() + 1);
    count.set_newest(std::string(frame.substr(0, kShown)));
    count.set_interface(interface);
    counted = true;
  }
  return counted;
}

}  // namespace rail::accept
