// What differs between the configuration that raild runs by and node.json as it is now, and what raild needs to take it.
//
// Use:      for (const Change& change : Changes(runs, now)) ... change.key ... change.takes ...
// Threads:  pure functions
// Source:   README.md of this folder ("Changes while raild runs")
#pragma once

#include <string>
#include <vector>

#include "lib/config/node_config.h"

namespace rail::config {

// What the file is called where raild and the doctor speak of it.
inline constexpr const char* kNodeFile = "node.json";

enum class Takes {
  kAtOnce,   // no pod that runs loses its network by it, unless that is what the change says
  kRestart,  // pods that run may be cut off, or BGP sessions reset: a person chooses the moment
};

struct Change {
  std::string
      key;  // as in node.json, a rail by its name: "tenancy.tenants", "rails[rail0].mtu"; a rail as a whole: "rails[rail7]"
  Takes takes = Takes::kAtOnce;
  bool operator==(const Change&) const = default;
};

// In the order of the keys in KEYS.md. Empty: both mean the same, however they are written.
std::vector<Change> Changes(const NodeConfig& runs, const NodeConfig& now);

// "bgp.asn, rails[rail0].mtu"
std::string Keys(const std::vector<Change>& changes);

}  // namespace rail::config
