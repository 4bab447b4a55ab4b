// zebra: its version, and whose next hops its routes have. And whether a daemon of FRRouting runs.
//
// Use:      RAIL_ASSIGN(const std::string version, ZebraVersion("/run/frr", deadline));   // "10.3"
// Threads:  any
// Source:   zebra/zebra_vty.c of FRRouting 8.4.4 and 10
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/address.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"

namespace rail::frr {

// The version of FRRouting that the running zebra is of: "10.3"; "" it says it in words that are not known.
// Errors: kTransient zebra does not run or does not answer; kInternal.
Result<std::string> ZebraVersion(const std::string& run_dir, Deadline deadline);

// From `show version`: "FRRouting 10.3 (host) on Linux(6.1.0)." -> "10.3".
std::string DecodeVersion(std::string_view text);

// Whether somebody serves `run_dir`/`daemon`.vty: one connect(2).
bool DaemonRuns(const std::string& run_dir, const std::string& daemon);

// Whether zebra of this version keeps wrong next hops where routes share them in groups of the kernel (`ip nexthop`): before 9.1, one that
// comes back after a flap of its link stays out of the group for good; from 10.2 on, zebra puts it back before bgpd has a path there, and
// leaves it there if none comes.
bool LosesNextHops(const std::string& version);

// Makes such a zebra give the kernel each route with next hops of its own (`no zebra nexthop kernel enable`). A route that is in the
// kernel already is given so when it changes. Calls `before` first, and changes nothing if that fails. True: changed now; false: it
// was so, or the version needs no change. May be repeated. Errors: kTransient zebra does not run or does not answer; kInvalid.
Result<bool> OwnNextHops(const std::string& run_dir, const std::function<Status()>& before,
                         Deadline deadline);

// Removes route-maps and prefix lists of ours; `next_hops`: and what OwnNextHops has set. The maps and lists come there when somebody has written the whole configuration of FRRouting and it
// was read again: then every daemon has them. Returns the lines sent. A zebra that does not run has none. Errors: kInvalid; kTransient.
Result<std::vector<std::string>> RemoveOursFromZebra(const std::string& run_dir, bool next_hops,
                                                     Deadline deadline);

}  // namespace rail::frr
