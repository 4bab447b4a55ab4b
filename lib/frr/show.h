// Decodes bgpd's JSON: one prefix's Adj-RIB-Out, the sessions, a number that changes with the table.
//
// Use:      RAIL_ASSIGN(const auto sessions, DecodeSessions(text));   // of `show bgp summary json`
// Threads:  pure functions
// Source:   bgpd/bgp_route.c, bgp_vty.c of FRRouting 8.4.4 and 10
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/error.h"
#include "lib/frr/bgp.h"

namespace rail::frr {

// From `show bgp <family> unicast <prefix> json`: whether our own path, as it is now, is advertised to `interface`.
// False for a path that is being changed or removed (bgpd holds changes for 50 ms). Errors: kInternal.
Result<bool> DecodeInAdjRibOut(std::string_view text, const std::string& interface);

// From the same answer: the AS path of somebody else's path (Bgp::AnnouncedElsewhere). Errors: kInternal.
Result<std::optional<std::string>> DecodeElsewhere(std::string_view text);

// From the same answer: Bgp::UsedLinks. Errors: kInternal.
Result<std::set<std::string>> DecodeUsedLinks(std::string_view text);

// From `show bgp <family> unicast neighbors <interface> advertised-routes json`: the prefixes. Errors: kInternal.
Result<std::vector<IpPrefix>> DecodeAdvertised(std::string_view text);

// From `show bgp summary json`, by interface, without the peers' addresses. Errors: kInternal.
Result<std::vector<Session>> DecodeSessions(std::string_view text);

// From `show bgp summary json`: the instance's identifier; nullopt: it has no neighbors. Errors: kInternal.
Result<std::optional<IpAddress>> DecodeIdentifier(std::string_view text);

// From `show bgp summary json`: equal numbers mean equal tables. Errors: kInternal.
Result<uint64_t> DecodeTableVersion(std::string_view text);

// From `show bgp neighbors <interface> json`: the session's state. Errors: kNotFound no such neighbor; kInternal.
Result<std::string> DecodeState(std::string_view text, const std::string& interface);

// From the same answer: the leaf's address, whether its End-of-RIB is due, and how a session that is down has ended.
// Errors: kInternal.
Status DecodeNeighbor(std::string_view text, Session& session);

// From `show bgp vrf all summary json`, and `show bgp vrf all neighbors json`: the same of all instances. Errors: kInternal.
Result<std::vector<Session>> DecodeAllSessions(std::string_view text);
Status DecodeAllNeighbors(std::string_view text, std::vector<Session>& sessions);

}  // namespace rail::frr
