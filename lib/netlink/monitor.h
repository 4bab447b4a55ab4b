// Reports which links of a namespace change, and that neighbours or priorities (dcb.h) change. The caller asks Netlink for their new state.
//
// Use:      RAIL_ASSIGN(auto monitor, Monitor::Open());      // of the calling thread's namespace, for good
//           ... monitor->fd() is readable ...
//           RAIL_ASSIGN(Changes changes, monitor->Receive());
// Threads:  one at a time
// Owns:     its socket
// Source:   rtnetlink(7), groups RTNLGRP_LINK, RTNLGRP_NEIGH and RTNLGRP_DCB
#pragma once

#include <memory>
#include <vector>

#include "lib/base/error.h"

namespace rail::netlink {

struct Changes {
  std::vector<int> links;  // indexes of links that were added, changed or removed; ascending, no duplicates
  bool neighbours_changed = false;
  bool priorities_changed = false;  // PFC, traffic classes or the table of applications of some link
  bool overrun = false;             // changes were lost: read everything again
};

class Monitor {
 public:
  // The monitor reports every change after Open has returned. Errors: kPermission, kTransient.
  static Result<std::unique_ptr<Monitor>> Open();

  virtual ~Monitor() = default;
  virtual int fd() const = 0;  // readable when there is something to receive
  // Takes everything that waits, without blocking. If nothing waits, that is no error.
  virtual Result<Changes> Receive() = 0;
};

}  // namespace rail::netlink
