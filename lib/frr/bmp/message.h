// BMP messages of bgpd: which sessions go up and down, and what each peer announces.
//
// Use:      Framer framer(Instance::kDefault);  framer.Feed(bytes);
//           Message message;
//           for (;;) { RAIL_ASSIGN(const bool whole, framer.Next(message));  if (!whole) break;  ... }
// Threads:  values
// Source:   RFC 7854 section 4; RFC 8671 (flag O), RFC 9069 (peer type 3): both describe other tables, which are skipped
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/address.h"
#include "lib/base/error.h"
#include "lib/frr/bmp/update.h"

namespace rail::bmp {

// The largest message that we accept: two OPENs, or one UPDATE, of 65,535 bytes each (RFC 8654), and their headers.
inline constexpr size_t kMaxMessage = size_t{160} * 1024;

// A peer as BMP identifies it. Two sessions to one leaf have the same Peer if the leaf uses one link-local address for all its
// ports: see Message::local_port.
struct Peer {
  uint64_t distinguisher = 0;
  IpAddress address;
  uint32_t asn = 0;
  uint32_t bgp_id = 0;
  std::string ToString() const;  // "fe80::1 (AS 4200010001)"
  auto operator<=>(const Peer&) const = default;
};

// Which of bgpd's instances sends. FRR 8.4 describes the peers of a VRF as it does those of the default instance; FRR 10.3 and later
// give them another type and the VRF's distinguisher.
enum class Instance : uint8_t { kDefault, kVrf };

struct Message {
  enum class Kind : uint8_t {
    kStarted,     // Initiation: the router begins to send
    kEnded,       // Termination: the router is about to close; `reason` says why
    kPeerUp,      // a session is up: peer, since_ms, local, ports, families
    kPeerDown,    // a session is down: peer
    kRoutes,      // peer, update
    kPostPolicy,  // routes after the import policy. Not used: bgpd 8.4 does not report all of them
    kOther,       // not used: statistics, mirrored messages, other tables
    kMalformed,  // could not be read, or a session of another instance; `reason` says why. The next message can be read
  };
  Kind kind = Kind::kOther;
  Peer peer;
  Update update;
  std::string reason;
  int64_t since_ms = 0;  // Unix time; 0: unknown
  IpAddress local;
  uint16_t local_port = 0;  // with remote_port it tells one session from another
  uint16_t remote_port = 0;
  std::vector<Family> families;  // the families that both sides have offered
};

// One whole message. The peers of a VRF have no distinguisher here: its connection tells whose they are.
// Errors: kInvalid not BMP version 3.
Result<Message> Decode(std::string_view message, Instance from = Instance::kDefault);

// Cuts a stream into messages.
class Framer {
 public:
  explicit Framer(Instance from = Instance::kDefault) : from_(from) {}
  void Feed(std::string_view bytes);
  // Puts the next message into `message`. False: more bytes are needed. Errors: kInvalid the message is not BMP version 3, or too
  // large; nothing more can be read from the stream.
  Result<bool> Next(Message& message);

 private:
  Instance from_;
  std::string buffer_;
  size_t at_ = 0;
};

}  // namespace rail::bmp
