// What bgpd's JSON says: remotes in its table, one prefix's Adj-RIB-Out, the sessions.
//
// Use:      RAIL_TRY(DecodeRemotes(pieces, community_asn, remotes));   // of `show bgp ipv4 unicast json
//           detail`
// Threads:  pure functions
// Source:   bgpd/bgp_route.c, bgp_vty.c of FRRouting 8.4.4 and 10; README.md
//           of this folder (which paths count)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/error.h"
#include "lib/frr/bgp.h"
#include "lib/frr/vty.h"

namespace rail::frr {

// Appends the remotes of one family's table, by address. Reads "P": [header, path, ...] (8.4) and
// "P": {..., "paths": [...]} (10), in one pass, holding neither the text nor a document of it.
// Errors: kInternal it is not the JSON that we know; those of `next`.
Status DecodeRemotes(const Pieces& next, uint32_t community_asn, std::vector<Remote>& remotes);

// From `show bgp <family> unicast <prefix> json`: whether our own path, as it is now, is on its way to
// `interface`. A path that is being changed or removed (bgpd holds changes for 50 ms) is not. Errors:
// kInternal.
Result<bool> DecodeInAdjRibOut(std::string_view text, const std::string& interface);

// From `show bgp summary json`, by interface, without the peers' addresses. Errors: kInternal.
Result<std::vector<Session>> DecodeSessions(std::string_view text);

// From the same: equal numbers, equal tables. Errors: kInternal.
Result<uint64_t> DecodeTableVersion(std::string_view text);

// From `show bgp neighbors <interface> json`: the session's state. Errors: kNotFound no such neighbor; kInternal.
Result<std::string> DecodeState(std::string_view text, const std::string& interface);

// From the same: the leaf's address and whether it owes its End-of-RIB. Errors: kInternal.
Status DecodeNeighbor(std::string_view text, Session& session);

}  // namespace rail::frr
