// The datapath's flows as `dpctl/dump-flows -m --names` prints them, and where each is carried out.
//
// Use:      for (const Megaflow& flow : ParseMegaflows(text)) ... flow.in_port, flow.place ...
// Threads:  pure functions
// Source:   ovs-dpctl(8) "dump-flows"; lib/dpctl.c format_dpif_flow (offloaded:, dp:); seen with Open vSwitch 3.1
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rail::inspect {

enum class Place {
  kHardware,  // offloaded:yes
  kTc,        // in tc, and the NIC has not taken it
  kSoftware,  // in Open vSwitch's own datapath
};

struct Megaflow {
  std::string in_port;  // a link's name
  std::string match;    // without what it does not look at
  std::string actions;
  std::set<std::string> outputs;  // link names
  uint64_t packets = 0;
  uint64_t bytes = 0;
  std::string used;  // "0.386s", "never"
  Place place = Place::kSoftware;
};

// Lines that are no flow are left out.
void ForEachMegaflow(std::string_view text, const std::function<void(Megaflow&&)>& each);
std::vector<Megaflow> ParseMegaflows(std::string_view text);

// What is known of the switch that bears on offload.
struct Datapath {
  bool kernel = true;       // false: the userspace datapath
  bool hw_offload = false;  // other_config:hw-offload=true
};

// A sentence: why the flow is not in hardware; "" when it is.
std::string WhyNotInHardware(const Megaflow& flow, const Datapath& datapath);

}  // namespace rail::inspect
