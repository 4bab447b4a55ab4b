// Why a rail's BGP session is not Established, from what bgpd and the kernel say of it.
//
// Use:      if (const auto down = WhyDown(session, {.bridge = "br-rail0", .asn = 4200000001, .carrier = true})) Tell(down->what);
// Threads:  pure functions
// Source:   RFC 4271 section 4.5 and RFC 4486 (codes); bgpd/bgp_vty.c and bgp_fsm.c of FRRouting 8.4 ("lastResetDueTo",
//           "lastErrorCodeSubcode", "adminShutDown"); README.md of this folder ("Why a session is down")
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/frr/bgp.h"

namespace rail::frr {

struct SessionDown {
  enum class Cause {
    kNoNeighbor,    // bgpd does not have the neighbor
    kShutDownHere,  // `neighbor ... shutdown` in this node's bgpd
    kNoCarrier,     // the uplink has none
    kLeafUnheard,   // no router advertisement of a leaf has come
    kLeafSilent,    // nothing answers TCP port 179
    kLeafRefuses,   // the leaf's kernel refuses the connection
    kLeafRejects,   // the leaf's bgpd ends the connection before it says anything
    kWrongAs,       // one of the two expects another AS
    kPrefixes,      // one of the two has had too many prefixes
    kHoldTimer,     // the leaf takes the connection and is silent
    kOther,
  };
  Cause cause = Cause::kOther;
  std::string what;  // a sentence
};

struct SessionPlace {
  std::string bridge;
  uint32_t asn = 0;  // of this node
  bool carrier = true;
};

// nullopt: the session is Established. `session` null: bgpd does not have it.
std::optional<SessionDown> WhyDown(const Session* session, const SessionPlace& place);

// What the end of a connection tells over which so many TCP segments and bytes have come from the leaf.
Attempt AttemptOf(uint32_t segments, uint64_t bytes);

// How bgpd's last attempt has ended. What the session's silence was before is older.
void NoteAttempt(Session& session, Attempt attempt);

// Takes over what `before` tells of the same session's end, as long as it is down: bgpd says only what came last, and forgets a
// leaf's NOTIFICATION with its next attempt, a second later.
void Remember(Session& session, const Session& before);

}  // namespace rail::frr
