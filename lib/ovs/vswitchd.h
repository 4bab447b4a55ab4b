// What is asked of ovs-vswitchd itself: how many flows each datapath has and may have. These commands are cheap for the switch,
// however many flows there are.
//
// Use:      RAIL_ASSIGN(std::string text, ask("upcall/show", {}, deadline));
//           for (const DatapathCounts& datapath : ParseUpcallShow(text)) ... datapath.flows, datapath.limit ...
//           RAIL_TRY(RaiseFlowLimit(ask, 200000, deadline));
// Threads:  any thread
// Source:   ofproto/ofproto-dpif-upcall.c upcall_unixctl_show, upcall_unixctl_set_flow_limit, udpif_revalidator;
//           observed with Open vSwitch 3.1
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/ovs/ovsdb.h"

namespace rail::ovs {

// Sends a command to the running ovs-vswitchd, as ovs-appctl(8) does, and returns its output. Safe to repeat if the command is.
// Errors: kNotFound, kTransient ovs-vswitchd is gone or slow; kInvalid it refuses, in its words.
using AskVswitchd = std::function<Result<std::string>(const std::string& command,
                                                      const std::vector<std::string>& arguments, Deadline)>;

// The configured limit: flow-limit of Open_vSwitch.other_config, or Open vSwitch's default of 200,000.
uint64_t FlowLimit(const ExternalIds& other_config);

struct DatapathCounts {
  std::string name;                   // "system@ovs-system"
  uint64_t flows = 0;                 // all flows, not only those of pods
  uint64_t limit = 0;                 // above it, idle flows are removed at once
  std::optional<uint64_t> offloaded;  // in tc, whether or not the NIC has taken them; nothing: not counted
  uint64_t dump_ms = 0;               // how long the switch took to look at all of them
};

// Skips lines that say something else.
std::vector<DatapathCounts> ParseUpcallShow(std::string_view text);

// Raises the running flow limit of ovs-vswitchd to `limit`. ovs-vswitchd starts with 10,000 and grows by 2,000 a
// second while it needs more, which a flood outruns. It stays as it is when it is high enough, and when ovs-vswitchd takes a
// second or longer to look at all its flows: then it lowers the limit itself, and knows better.
// Errors: as AskVswitchd. Safe to repeat.
Status RaiseFlowLimit(const AskVswitchd& ask, uint64_t limit, Deadline deadline);

}  // namespace rail::ovs
