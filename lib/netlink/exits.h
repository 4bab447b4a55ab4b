// Where a route of the host goes out, as the kernel has it.
//
// Use:      RAIL_ASSIGN(const Exits exits, ExitsOf(*IpPrefix::Parse("0.0.0.0/0")));   // {{"mgmt1", "mgmt2"}, RTPROT_BGP}
// Threads:  any; of the calling thread's network namespace
// Source:   rtnetlink(7), linux/rtnetlink.h (RTA_MULTIPATH), linux/nexthop.h
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "lib/base/address.h"
#include "lib/base/error.h"

namespace rail::netlink {

struct Exits {
  std::set<std::string> links;  // of the next hops that carry packets now; empty: there is no such route
  uint8_t protocol = 0;         // who has made the route: RTPROT_BGP, RTPROT_STATIC, ...
  bool operator==(const Exits&) const = default;
};

// Of the route to `prefix` itself in the main table; of several, of that with the lowest metric. A next hop on a link without a
// carrier does not count. May be repeated. Errors: kTransient; kInternal.
Result<Exits> ExitsOf(const IpPrefix& prefix);

}  // namespace rail::netlink
