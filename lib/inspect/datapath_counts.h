// How many flows each datapath has, as `upcall/show` prints it. The command is cheap for the switch, however many there are.
//
// Use:      for (const DatapathCounts& datapath : ParseUpcallShow(text)) ... datapath.flows, datapath.limit ...
// Threads:  pure functions
// Source:   ofproto/ofproto-dpif-upcall.c upcall_unixctl_show; observed with Open vSwitch 3.1
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rail::inspect {

struct DatapathCounts {
  std::string name;                   // "system@ovs-system"
  uint64_t flows = 0;                 // all flows, not only those of pods
  uint64_t limit = 0;                 // above it, idle flows are removed at once
  std::optional<uint64_t> offloaded;  // in tc, whether or not the NIC has taken them; nothing: not counted
};

// Skips lines that say something else.
std::vector<DatapathCounts> ParseUpcallShow(std::string_view text);

}  // namespace rail::inspect
