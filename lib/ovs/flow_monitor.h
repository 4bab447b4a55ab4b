// The rules of one bridge over a lasting connection, which also reports what others change in them.
//
// Use:      RAIL_ASSIGN(auto monitor, FlowMonitor::Open(run_dir + "/br-rail0.mgmt", deadline));
//           monitor->bridge().Changes();  monitor->bridge().ForEach(...);  monitor->bridge().Commit(...);
//           ... monitor->fd() is readable, or a call has ended: RAIL_TRY(monitor->TakeIn());  if (monitor->told()) ...
// Threads:  one at a time
// Owns:     its connection, which ends when the bridge is removed or ovs-vswitchd ends
// Source:   OpenFlow 1.5.1 section 7.3.5.19 (flow monitoring); Open vSwitch: ofproto/connmgr.c (what it sends and when)
#pragma once

#include <memory>
#include <string>

#include "lib/ovs/openflow.h"

namespace rail::ovs {

class MgmtConnection;

class FlowMonitor {
 public:
  // The switch reports every change that others make after Open has returned.
  // Errors: as MgmtConnection::Open; kUnsupported the switch has no flow monitoring.
  static Result<std::unique_ptr<FlowMonitor>> Open(const std::string& path, Deadline deadline);
  ~FlowMonitor();
  FlowMonitor(const FlowMonitor&) = delete;
  FlowMonitor& operator=(const FlowMonitor&) = delete;

  OpenFlow& bridge();
  // False: a call on bridge() has failed, and no other will succeed.
  bool usable() const;

  // Reads what has arrived, without waiting; bridge().Changes() returns it. Errors: kTransient the connection is lost.
  Status TakeIn();
  // Whether the switch has reported a change that bridge().Changes() has not returned yet.
  bool told() const;
  // Readable when TakeIn has something to do. A call on bridge() reads it, too: so ask told() after each call.
  int fd() const;

 private:
  explicit FlowMonitor(std::unique_ptr<MgmtConnection> connection);
  std::unique_ptr<MgmtConnection> connection_;
};

}  // namespace rail::ovs
