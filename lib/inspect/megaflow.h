// The datapath's flows as `dpctl/dump-flows -m --names` prints them, and where each of them runs.
//
// Use:      ForEachMegaflow(text, [&](Megaflow&& flow) { ... flow.in_port, flow.place ... });
// Threads:  pure functions
// Source:   ovs-dpctl(8) "dump-flows"; lib/dpctl.c format_dpif_flow (offloaded:, dp:); observed with Open vSwitch 3.1
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
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

// "ipv4", "ipv6" or "other".
const char* FamilyOf(const Megaflow& flow);
// The bits that the flow looks at, whatever their values: "in_port,eth(src,dst),eth_type,ipv4(src/255.0.0.0,dst)". The datapath looks a
// packet up by every such mask, one after another.
std::string MaskOf(const Megaflow& flow);

// As many masks are common; a datapath with more makes packets slow.
inline constexpr size_t kMostMasks = 32;

// Masks of a datapath, by family, each with the ports from which its flows come.
class Masks {
 public:
  void Add(const Megaflow& flow) { of_[FamilyOf(flow)][MaskOf(flow)].insert(flow.in_port); }
  std::map<std::string, size_t> Counts() const;  // by family
  size_t Count() const;                          // of all families
  // The port that has flows of the most masks of a family, and of how many; "": none.
  std::pair<std::string, size_t> Most(const std::string& family) const;

 private:
  std::map<std::string, std::map<std::string, std::set<std::string>>> of_;
};

// The facts about the switch that decide about offload.
struct Datapath {
  bool kernel = true;       // false: the userspace datapath
  bool hw_offload = false;  // other_config:hw-offload=true
};

// Why the flow is not in hardware, as a sentence; "" when it is.
std::string WhyNotInHardware(const Megaflow& flow, const Datapath& datapath);

}  // namespace rail::inspect
