// Converts rules and texts between the shim's C and C++.
//
// Use:      const rail_rule view = View(rule);  std::string error = TakeText(rail_encode_hello(1, &bytes));
// Threads:  any thread
#pragma once

#include <cstdint>
#include <string>

#include "lib/ovs/rule.h"
#include "lib/ovs/shim.h"

namespace rail::ovs {

// Frees `text`; "" for NULL.
std::string TakeText(char* text);

// The result points into `rule`, which must outlive it.
rail_rule View(const Rule& rule);

std::string Hex(uint64_t value);

// As ovs-ofctl prints it: "table=0,priority=100,cookie=0x5241494c02000001,ip,nw_src=10.0.0.1
// actions=resubmit(,1)".
std::string ToText(const Rule& rule);

// By table, then priority (high first), then match.
bool InDumpOrder(const Rule& a, const Rule& b);

}  // namespace rail::ovs
