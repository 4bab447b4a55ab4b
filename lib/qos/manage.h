// Makes an uplink's priorities as node.json wants them, and as they were before.
//
// Use:      const Plan plan = PlanFor(wanted, state);
//           ... record BeforeOf(plan, state) ...
//           RAIL_TRY(Apply(plan, "ens1f0np0", *dcb));
//           RAIL_TRY(Apply(PlanBack(before, state), "ens1f0np0", *dcb));     // to give back
// Threads:  pure but for Apply
// Source:   README.md of this folder
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/config/lossless.h"
#include "lib/netlink/dcb.h"

namespace rail::qos {

// What an uplink had of the things that raild has changed. What is not in it raild has not touched.
struct Before {
  std::optional<uint8_t> pfc;                     // bit N: priority N
  std::map<uint16_t, std::vector<uint8_t>> dscp;  // DSCP -> its priorities; none: it had no entry
  bool operator==(const Before&) const = default;
};

// What is known already stays.
void Merge(Before& known, const Before& more);

struct Plan {
  std::optional<uint8_t> pfc;
  std::vector<netlink::DcbApp> add;
  std::vector<netlink::DcbApp> remove;
  bool empty() const { return !pfc && add.empty() && remove.empty(); }
};

Plan PlanFor(const config::Lossless& wanted, const netlink::DcbState& now);
Plan PlanBack(const Before& before, const netlink::DcbState& now);
Before BeforeOf(const Plan& plan, const netlink::DcbState& now);

// Returns what it has changed, in words; safe to repeat. PFC first: no packet is sorted to a queue that does not pause yet.
Result<std::vector<std::string>> Apply(const Plan& plan, const std::string& uplink, netlink::Dcb& dcb);

}  // namespace rail::qos
