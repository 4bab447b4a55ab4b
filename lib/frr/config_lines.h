// What the plans of bgpd's configuration share: finding lines, and the lines that make a list or a route-map what it is to be.
//
// Use:      auto lines = MapLines(running, "railcni-in", {{"permit 10", {"match large-community railcni-any"}}});
// Threads:  pure functions
// Source:   README.md of this folder ("Route-maps of these names are ours")
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/frr/running_config.h"

namespace rail::frr {

inline constexpr char kAnyList[] = "railcni-any";      // large communities of ours
inline constexpr char kLocalList[] = "railcni-local";  // an empty AS path: announced here

bool Has(const std::vector<std::string>& lines, std::string_view line);

// The first line that begins with `prefix`, or nullptr.
const std::string* Starting(const std::vector<std::string>& lines, std::string_view prefix);

std::set<std::string> Words(const std::string& line);

// The lines after which our route-map `name` holds `wanted` and nothing else. The map may be in use: if it loses its last entry,
// bgpd keeps the empty map for 5 s and denies all. So the lines add another entry at its end meanwhile. And an entry permits
// nothing until it has its clauses.
std::vector<std::string> MapLines(const RunningConfig& running, const std::string& name,
                                  const RouteMap& wanted);

// The lines after which our list holds `entries` and nothing else. `kind`: "ip prefix-list NAME". Entries are numbered from 5 in
// steps of 5, as bgpd does itself.
std::vector<std::string> ListLines(const RunningConfig& running, const std::string& kind,
                                   const std::vector<std::string>& entries);

// Of one family: what `inner` lines stand in; nothing without any.
void AddFamily(std::vector<std::string>& lines, bool v6, const std::vector<std::string>& inner);

// What an unnumbered neighbor ("neighbor p0") lacks in the instance, all but the line that brings its session up.
void AddNeighbor(std::vector<std::string>& lines, const InstanceConfig& instance,
                 const std::string& neighbor);

// That the neighbor is active in the family, where it is not.
void AddActivation(std::vector<std::string>& lines, const InstanceConfig& instance, bool v6,
                   const std::string& neighbor);

// The line that makes `neighbor` something else than an unnumbered neighbor of any other AS; nullptr: there is none.
const std::string* OtherNeighbor(const InstanceConfig& instance, const std::string& neighbor);

}  // namespace rail::frr
