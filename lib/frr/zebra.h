// zebra: what of a route is in the kernel's table. And whether a daemon of FRRouting runs.
//
// Use:      RAIL_ASSIGN(const auto links, OutLinks("/run/frr", prefix, deadline));   // {"mgmt1", "mgmt2"}
// Threads:  any
// Source:   zebra/zebra_vty.c of FRRouting 8.4.4 and 10 (`show ip route PREFIX json`)
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "lib/base/address.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"

namespace rail::frr {

// The links of the next hops that the kernel has for `prefix` itself in the main table; empty: no such route.
// Errors: kTransient zebra does not run or does not answer; kInternal.
Result<std::set<std::string>> OutLinks(const std::string& run_dir, const IpPrefix& prefix, Deadline deadline);

// From `show ip route PREFIX json`. Errors: kInternal.
Result<std::set<std::string>> DecodeOutLinks(std::string_view text);

// The version of FRRouting that the running zebra is of: "10.3"; "" it says it in words that are not known.
// Errors: kTransient zebra does not run or does not answer; kInternal.
Result<std::string> ZebraVersion(const std::string& run_dir, Deadline deadline);

// From `show version`: "FRRouting 10.3 (host) on Linux(6.1.0)." -> "10.3".
std::string DecodeVersion(std::string_view text);

// Whether somebody serves `run_dir`/`daemon`.vty: one connect(2).
bool DaemonRuns(const std::string& run_dir, const std::string& daemon);

// Removes route-maps and prefix lists of ours. They come there when somebody has written the whole configuration of FRRouting and it
// was read again: then every daemon has them. Returns the lines sent. A zebra that does not run has none. Errors: kInvalid; kTransient.
Result<std::vector<std::string>> RemoveOursFromZebra(const std::string& run_dir, Deadline deadline);

}  // namespace rail::frr
