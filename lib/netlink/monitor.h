// Tells that links or neighbours of a namespace changed; what they are now is asked with Netlink.
//
// Use:      RAIL_ASSIGN(auto monitor, Monitor::Open());      // of the calling thread's namespace, for good
//           ... monitor->fd() is readable ...
//           RAIL_ASSIGN(Changes changes, monitor->Receive());
// Threads:  one at a time
// Owns:     its socket
// Source:   rtnetlink(7), groups RTNLGRP_LINK and RTNLGRP_NEIGH
#pragma once

#include <memory>
#include <vector>

#include "lib/base/error.h"

namespace rail::netlink {

struct Changes {
  std::vector<int> links;  // indexes of links that came, changed or went; ascending, each once
  bool neighbours_changed = false;
  bool overrun = false;  // changes were lost: look at everything
};

class Monitor {
 public:
  // What happens after this returns is told. Errors: kPermission, kTransient.
  static Result<std::unique_ptr<Monitor>> Open();

  virtual ~Monitor() = default;
  virtual int fd() const = 0;  // readable when there is something to receive
  // All that is waiting, without blocking; nothing is no error.
  virtual Result<Changes> Receive() = 0;
};

}  // namespace rail::netlink
