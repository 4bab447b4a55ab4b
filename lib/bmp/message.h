// BMP messages of bgpd: sessions that come and go, and what each peer announces.
//
// Use:      Framer framer;  framer.Feed(bytes);
//           Message message;
//           for (;;) { RAIL_ASSIGN(const bool whole, framer.Next(message));  if (!whole) break;  ... }
// Threads:  values
// Source:   RFC 7854 section 4; RFC 8671 (flag O), RFC 9069 (peer type 3): both are other tables, passed over
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/address.h"
#include "lib/base/error.h"
#include "lib/bmp/update.h"

namespace rail::bmp {

// The largest message that is taken in: two OPENs, or one UPDATE, of 65,535 bytes each (RFC 8654), and their headers.
inline constexpr size_t kMaxMessage = size_t{160} * 1024;

// A peer as BMP knows it. Two sessions to one leaf that uses one link-local address for all its ports look the same: see
// Message::local_port.
struct Peer {
  uint64_t distinguisher = 0;
  IpAddress address;
  uint32_t asn = 0;
  uint32_t bgp_id = 0;
  std::string ToString() const;  // "fe80::1 (AS 4200010001)"
  auto operator<=>(const Peer&) const = default;
};

struct Message {
  enum class Kind : uint8_t {
    kStarted,     // Initiation: the router says that it begins
    kEnded,       // Termination, and why: it is about to close
    kPeerUp,      // a session is up: peer, since_ms, local, ports, families
    kPeerDown,    // a session is down: peer
    kRoutes,      // peer, update
    kPostPolicy,  // routes as they are after the import policy. bgpd 8.4 forgets to report some: not used
    kOther,       // nothing to us: statistics, mirrored messages, other tables
    kMalformed,   // could not be read, and why; the next one can be
  };
  Kind kind = Kind::kOther;
  Peer peer;
  Update update;
  std::string reason;
  int64_t since_ms = 0;  // Unix time; 0: not told
  IpAddress local;
  uint16_t local_port = 0;  // with remote_port it tells one session from another
  uint16_t remote_port = 0;
  std::vector<Family> families;  // that both sides have offered
};

// One whole message. Errors: kInvalid not BMP version 3.
Result<Message> Decode(std::string_view message);

// Cuts a stream into messages.
class Framer {
 public:
  void Feed(std::string_view bytes);
  // Puts the next message into `message`; false: more bytes are needed. Errors: kInvalid not BMP version 3, or too large: the
  // stream cannot be followed any further.
  Result<bool> Next(Message& message);

 private:
  std::string buffer_;
  size_t at_ = 0;
};

}  // namespace rail::bmp
