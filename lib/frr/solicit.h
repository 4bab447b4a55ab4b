// Asks the routers on a link for an advertisement, so that bgpd knows a BGP unnumbered neighbor at once and not only after its
// next regular router advertisement, up to 10 s later.
//
// Use:      RAIL_TRY(SolicitRouters("br-rail0"));
// Threads:  any thread; sends one packet and waits for nothing
// Source:   RFC 4861 sections 4.1 and 6.3.7; FRRouting zebra/rtadv.c (rtadv_process_solicit)
#pragma once

#include <string>

#include "lib/base/error.h"

namespace rail::frr {

// Sends a router solicitation to ff02::2. The kernel also delivers a copy to this host's own zebra, which then advertises itself:
// a leaf that has forgotten the node, because its port lost carrier, waits for that advertisement.
// Errors: kNotFound no such link, kPermission (CAP_NET_RAW), kTransient.
Status SolicitRouters(const std::string& interface);

}  // namespace rail::frr
