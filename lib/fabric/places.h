// Where nodes are: the names of leaves, and each node's unit.
//
// Use:      const Places places(fleet);   places.UnitOf("n1");   places.LeafOf("n1", rail);
// Threads:  pure; it refers to the fleet, and holds until that changes
// Source:   README.md of this folder ("Units and leaves")
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "lib/fabric/fleet.h"

namespace rail::fabric {

// What distinguishes the leaf from others: its identifier, else its AS and name. "": it has never been heard.
std::string LeafKey(const v1::Rail& rail);

class Places {
 public:
  explicit Places(const Fleet& fleet);

  // "": not known.
  const std::string& UnitOf(std::string_view node) const;
  // The rail's leaf as people call it: its name, else its identifier; of two leaves with one name, both. Of a rail that
  // has never heard one: the leaf that most of its unit's nodes have on this rail. "": not known.
  std::string LeafOf(std::string_view node, const v1::Rail& rail) const;

 private:
  using Votes = std::map<std::string, size_t>;

  void NameLeaves(const Fleet& fleet);
  void PlaceNodes(const Fleet& fleet);

  std::unordered_map<std::string, std::string> names_;  // of leaves, by key
  std::map<std::string_view, std::string> units_;       // by node
  std::map<std::pair<std::string, uint32_t>, std::string>
      unit_leaves_;  // the name of most, by unit and rail's index
};

}  // namespace rail::fabric
