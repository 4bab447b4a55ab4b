// Reports when something that concerns us may have changed in the database of Open vSwitch.
//
// Use:      RAIL_ASSIGN(auto monitor, DbMonitor::Open(db, deadline));
//           ... read everything, then whenever monitor.fd() is readable:
//           RAIL_ASSIGN(bool changed, monitor.Receive());         // on an error, open a new one and read everything again
// Threads:  one at a time
// Owns:     a connection of its own
// Source:   RFC 7047 section 4.1.5
#pragma once

#include <string>

#include "lib/ovs/rpc.h"

namespace rail::ovs {

// Watches cur_cfg; bridges and their ports, fail_mode, other_config, external_ids; ports' external_ids; interfaces'
// ofport, error, link_state, admin_state. Does not watch statistics, which change all the time.
class DbMonitor {
 public:
  // The monitor reports every change that is committed after Open has returned, but not what exists before. `path` as
  // DbConnection's. Errors: as DbConnection::Open.
  static Result<DbMonitor> Open(const std::string& path, Deadline deadline);

  // Readable when Receive has something to do.
  int fd() const { return rpc_.fd(); }

  // Reads everything that has arrived, without waiting. True: something has changed.
  // Errors: kTransient the connection is lost; kInvalid not OVSDB.
  Result<bool> Receive();

 private:
  explicit DbMonitor(RpcConnection rpc) : rpc_(std::move(rpc)) {}

  RpcConnection rpc_;
};

}  // namespace rail::ovs
