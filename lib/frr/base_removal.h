// What bgpd's configuration was before RailCNI wrote to it, and the lines that make it so again.
//
// Use:      const BaseBefore before = LookBefore(ParseRunningConfig(text), {"br-rail0"});      // before the first EnsureBase
//           auto lines = PlanRemoval(ParseRunningConfig(text), {"br-rail0"}, Removal{true, before});
// Threads:  pure functions
// Source:   README.md of this folder ("What is removed")
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/frr/running_config.h"

namespace rail::frr {

// Of the lines that EnsureBase and EnsureFeed may add or change, those that were there before.
struct BaseBefore {
  bool known = true;  // false: lines of ours were there already, so nobody can say what was there before them
  std::optional<uint32_t> asn;                 // nullopt: there was no instance
  std::vector<std::string> interfaces;         // of the neighbors that were looked at
  std::vector<std::string> lines, ipv4, ipv6;  // of the instance, and of its address families
  bool operator==(const BaseBefore&) const = default;
};

// How much to remove.
struct Removal {
  bool base = false;                 // the base configuration too, not only announcements
  std::optional<BaseBefore> before;  // nullopt: not known
  bool next_hops = false;            // RailCNI has made zebra give each route next hops of its own (zebra.h)
};

BaseBefore LookBefore(const RunningConfig& running, const std::vector<std::string>& interfaces);

// Adds the neighbors that `now` has looked at and `first` has not.
void Merge(BaseBefore& first, const BaseBefore& now);

// The lines that remove what is ours and restore what was there before. Without knowledge of what was there, only what carries
// our names goes: the instances of our VRFs, announcements, route-maps, lists, the table-map, the BMP targets.
std::vector<std::string> PlanRemoval(const RunningConfig& running, const std::vector<std::string>& interfaces,
                                     const Removal& removal);

// The lines after which BMP connections of ours that are not up rest for a day instead of being tried every second: of the instance of
// `vrf` ("": the default one), or of all that RailCNI has (nullopt). bgpd has to have answered them before targets or instances of such
// connections are removed (README.md of this folder, "bgpd 8.4 crashes").
std::vector<std::string> PlanRest(const RunningConfig& running,
                                  const std::optional<std::string>& vrf = std::nullopt);

// The lines that remove our route-maps and lists alone, from a daemon that has nothing else of ours.
std::vector<std::string> PlanListRemoval(const RunningConfig& running);

}  // namespace rail::frr
