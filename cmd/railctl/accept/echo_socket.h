// What both ends of an echo share: sockets of one interface, and what a datagram says.
//
// Use:      RAIL_ASSIGN(Fd fd, OpenUdp(AF_INET, "net1"));   if (TurnToAnswer(data, size)) ...
// Threads:  any thread
// Source:   ip(7), ipv6(7), socket(7)
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/error.h"
#include "lib/base/fd.h"

namespace rail::accept {

// The first bytes of a datagram, in the order of the machine that sends it and reads it again.
struct EchoHeader {
  uint32_t kind = 0;
  uint32_t sequence = 0;
  int64_t sent_ns = 0;  // by its steady clock
  bool operator==(const EchoHeader&) const = default;
};
inline constexpr size_t kIpv4AndUdp = 28;  // bytes
inline constexpr size_t kIpv6AndUdp = 48;

// A question of this sequence number and time; an answer to it.
EchoHeader Question(uint32_t sequence, int64_t sent_ns);
EchoHeader AnswerTo(const EchoHeader& question);

// Makes the answer of a question. False: the datagram is none.
bool TurnToAnswer(char* datagram, size_t size);

// Takes and sends on `interface` alone, non-blocking, and never in fragments. Errors: of socket(2) and setsockopt(2).
Result<Fd> OpenUdp(int family, const std::string& interface);

// `bytes`: of the address, none: any.
sockaddr_storage ToSocketAddress(int family, std::string_view bytes, uint16_t port, int interface);

}  // namespace rail::accept
