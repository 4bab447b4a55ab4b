// Reports which links of a namespace change, and that neighbours or priorities (dcb.h) change; or whose addresses change, and that routes do. The caller asks
// Netlink for their new state.
//
// Use:      RAIL_ASSIGN(auto monitor, Monitor::Open());      // of the calling thread's namespace, for good
//           ... monitor->fd() is readable ...
//           RAIL_ASSIGN(Changes changes, monitor->Receive());
// Threads:  one at a time
// Owns:     its socket
// Source:   rtnetlink(7), groups RTNLGRP_LINK, RTNLGRP_NEIGH and RTNLGRP_DCB, or RTNLGRP_IPV4_IFADDR, _ROUTE,
//           their IPv6 likes and RTNLGRP_NEXTHOP
#pragma once

#include <memory>
#include <vector>

#include "lib/base/error.h"

namespace rail::netlink {

struct Changes {
  // Indexes of links that were added, changed or removed, or (OpenForAddresses) that have got or lost an address; ascending, no
  // duplicates.
  std::vector<int> links;
  bool neighbours_changed = false;
  bool priorities_changed = false;  // PFC, traffic classes or the table of applications of some link
  // Default routes of any table, or next hops that routes share (OpenForAddresses). Other routes come and go with pods.
  bool default_routes_changed = false;
  bool overrun = false;  // changes were lost: read everything again
};

class Monitor {
 public:
  // The monitor reports every change after Open has returned. Errors: kPermission, kTransient.
  static Result<std::unique_ptr<Monitor>> Open();
  // The same for addresses and routes instead of links and neighbours.
  static Result<std::unique_ptr<Monitor>> OpenForAddresses();

  virtual ~Monitor() = default;
  virtual int fd() const = 0;  // readable when there is something to receive
  // Takes everything that waits, without blocking. If nothing waits, that is no error.
  virtual Result<Changes> Receive() = 0;
};

}  // namespace rail::netlink
