// The rules of one bridge over a connection that stays, and word of what others change in them.
//
// Use:      RAIL_ASSIGN(auto monitor, FlowMonitor::Open(run_dir + "/br-rail0.mgmt", deadline));
//           monitor->bridge().Dump(...);  monitor->bridge().Commit(...);
//           ... monitor->fd() is readable, or a call has ended: RAIL_ASSIGN(RuleChanges told, monitor->Changes());
// Threads:  one at a time
// Owns:     its connection; its end is the bridge's or ovs-vswitchd's
// Source:   OpenFlow 1.5.1 section 7.3.5.19 (flow monitoring); Open vSwitch: ofproto/connmgr.c (what it sends and when)
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/ovs/openflow.h"

namespace rail::ovs {

class MgmtConnection;

// What others have changed since the last Dump over the same connection. What the connection commits itself is not told.
struct RuleChanges {
  bool ours = false;  // a rule with a cookie of ours was added, edited or removed, or more than could be told
  std::vector<Rule>
      others;  // added or edited with another cookie, without actions: one of ours may have been in its place
  bool empty() const { return !ours && others.empty(); }
};

class FlowMonitor {
 public:
  // Every change that others make after this returned will be told.
  // Errors: as MgmtConnection::Open; kUnsupported the switch has no flow monitoring.
  static Result<std::unique_ptr<FlowMonitor>> Open(const std::string& path, Deadline deadline);
  ~FlowMonitor();
  FlowMonitor(const FlowMonitor&) = delete;
  FlowMonitor& operator=(const FlowMonitor&) = delete;

  OpenFlow& bridge();
  // False: a call on bridge() has failed, and no other will succeed.
  bool usable() const;

  // Takes in what has arrived, without waiting, and forgets it.
  // Errors: kTransient the connection is lost.
  Result<RuleChanges> Changes();
  // Readable when Changes has something to take in. A call on bridge() may have taken it in already: ask after each.
  int fd() const;

 private:
  explicit FlowMonitor(std::unique_ptr<MgmtConnection> connection);
  std::unique_ptr<MgmtConnection> connection_;
};

}  // namespace rail::ovs
