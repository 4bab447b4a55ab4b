// Parses the output of Open vSwitch's `ofproto/trace`.
//
// Use:      RAIL_ASSIGN(const SwitchTrace trace, ParseSwitchTrace(text));
// Threads:  pure functions
// Source:   ovs-vswitchd(8) "ofproto/trace"; ofproto/ofproto-dpif-trace.c, observed with Open vSwitch 3.1
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/error.h"

namespace rail::inspect {

struct SwitchStep {
  uint8_t table = 0;
  bool matched = false;  // whether a rule of the table matched
  uint16_t priority = 0;
  uint64_t cookie = 0;
  std::string match;  // "" matches all
  std::vector<std::string> actions;
};

struct SwitchTrace {
  std::vector<SwitchStep> steps;
  std::string megaflow;
  std::string datapath_actions;  // "drop", or a list of actions
};

// Errors: kInternal the text has no verdict: this Open vSwitch prints another format.
Result<SwitchTrace> ParseSwitchTrace(std::string_view text);

}  // namespace rail::inspect
