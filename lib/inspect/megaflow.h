// The datapath's flows as `dpctl/dump-flows -m --names` prints them, and where each of them runs.
//
// Use:      for (const Megaflow& flow : ParseMegaflows(text)) ... flow.in_port, flow.place ...
// Threads:  pure functions
// Source:   ovs-dpctl(8) "dump-flows"; lib/dpctl.c format_dpif_flow (offloaded:, dp:); observed with Open vSwitch 3.1
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rail/v1/node.pb.h"

namespace rail::inspect {

struct Megaflow {
  std::string in_port;  // a link's name
  std::string match;    // without fields whose mask is zero
  std::string actions;
  std::set<std::string> outputs;  // link names
  uint64_t packets = 0;
  uint64_t bytes = 0;
  std::string used;  // "0.386s", "never"
  v1::Megaflow::Place place = v1::Megaflow::SOFTWARE;
};

// Skips lines that are not flows.
void ForEachMegaflow(std::string_view text, const std::function<void(Megaflow&&)>& each);
std::vector<Megaflow> ParseMegaflows(std::string_view text);

// The facts about the switch that decide about offload.
struct Datapath {
  bool kernel = true;       // false: the userspace datapath
  bool hw_offload = false;  // other_config:hw-offload=true
};

// Why the flow is not in hardware, as a sentence; "" when it is.
std::string WhyNotInHardware(const Megaflow& flow, const Datapath& datapath);

}  // namespace rail::inspect
