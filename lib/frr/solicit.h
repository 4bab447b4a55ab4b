// Asks the routers on a link to say who they are, so that a BGP unnumbered neighbor is known at once and not with its next
// router advertisement, up to 10 s later.
//
// Use:      RAIL_TRY(SolicitRouters("br-rail0"));
// Threads:  pure function; one packet, nothing is waited for
// Source:   RFC 4861 sections 4.1 and 6.3.7; FRRouting zebra/rtadv.c (rtadv_process_solicit)
#pragma once

#include <string>

#include "lib/base/error.h"

namespace rail::frr {

// A router solicitation to ff02::2. The copy that the kernel gives back to this host's own zebra makes it advertise itself as well:
// that is what a leaf waits for that has forgotten the node with its port's carrier.
// Errors: kNotFound no such link, kPermission (CAP_NET_RAW), kTransient.
Status SolicitRouters(const std::string& interface);

}  // namespace rail::frr
