// Which cables contradict the others: of this node and of the nodes whose pods it knows. Each vote is a node's; without others there is
// no contradiction.
//
// Use:      for (const Miscabled& each : FindMiscabled(fabric)) ...
// Threads:  pure functions
// Cost:     O(nodes x rails x rails); for a node whose rails share leaves with different nodes, those nodes as well
// Source:   README.md of this folder ("Cabling")
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/inspect/topology.h"

namespace rail::inspect {

struct Miscabled {
  enum class Kind : uint8_t {
    kSwapped,    // `rail` and `other_rail` have each other's leaves
    kOneLeaf,    // both have the leaf that is `other_rail`'s
    kOtherRail,  // `rail` has the leaf of `other_rail`
    kUndecided,  // the leaf is `rail`'s here and `other_rail`'s of the node `other`: as many say this as that
    kTwoUnits,   // `rail` leads to another unit than `other_rail`
  };
  Kind kind = Kind::kSwapped;
  uint32_t node = 0;  // its AS
  uint32_t rail = 0;  // indexes
  uint32_t other_rail = 0;
  uint32_t leaf = 0;        // of `rail`, its AS
  uint32_t other_leaf = 0;  // of `other_rail`
  uint32_t other = 0;       // a node that says otherwise
  size_t others = 0;        // how many say so
  bool decided = true;      // kTwoUnits: most rails of the node are with other_rail
  bool operator==(const Miscabled&) const = default;
};

// Whether what is miscabled leads from one plane into another: not a longer way, but another network.
bool AcrossPlanes(const Miscabled& each, const Fabric& fabric);

// Who says otherwise: "the node AS 7 has", "3 nodes have (AS 7)".
std::string OthersText(const Miscabled& each);

// By node, this node's first. An undecided one only of this node: whose cable is wrong then is asked on both.
std::vector<Miscabled> FindMiscabled(const Fabric& fabric);

}  // namespace rail::inspect
