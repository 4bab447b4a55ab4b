// Which sizes of packets a leaf answers: an echo request of each, over the bridge's own port.
//
// Use:      RAIL_ASSIGN(const auto answers, Echo({{"br-rail0", leaf, 4200}}, After(std::chrono::milliseconds(600))));
// Threads:  any thread; waits until all have answered, or for the deadline
// Owns:     nothing; needs CAP_NET_RAW
// Source:   RFC 4443 section 4; ipv6(7), IPV6_DONTFRAG
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/address.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"

namespace rail::frr {

// Bytes, the IPv6 header included. Every link takes kSmall (RFC 8200 section 5).
inline constexpr uint32_t kSmallEcho = 1280;

struct EchoPeer {
  std::string interface;
  IpAddress address;  // link-local
  uint32_t size =
      0;  // bytes of the large packet, kSmallEcho..65535; more than the interface's MTU is never answered
};

struct EchoAnswer {
  bool small = false;  // a packet of kSmallEcho bytes was answered, whole
  bool full = false;   // one of EchoPeer::size was
};

// One answer for each of `peers`. Sends each packet three times at most, in unfragmented form.
// Errors: kPermission; kTransient no socket.
Result<std::vector<EchoAnswer>> Echo(const std::vector<EchoPeer>& peers, Deadline deadline);

}  // namespace rail::frr
