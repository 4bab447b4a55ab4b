// The addresses that nodes announce and that others are to have learned, by tenant, rail and place.
//
// Use:      Announced announced(look, deaf);   announced.To(node, "blue", announced.RailsOf(node));
// Threads:  one at a time; it refers to the look
// Cost:     O(attachments) to make; a tenant's places are counted once
// Source:   README.md of this folder ("Expected against seen")
#pragma once

#include <bitset>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/fabric/cause.h"

namespace rail::fabric {

// By index: 0..99.
using RailSet = std::bitset<100>;

// Whose addresses may be missing together.
struct Group {
  enum Of : uint8_t { kUnit, kOthers, kNode, kLeaf };
  Of of = kNode;
  std::string name;  // kLeaf: as LeafScope; kOthers: the unit that is not among them, of three or more

  auto operator<=>(const Group&) const = default;
};

struct GroupCount {
  size_t addresses = 0;
  size_t nodes = 0;
};

class Announced {
 public:
  using Counts = std::map<Group, GroupCount>;

  // `deaf`: leaves that pass nothing on (LeafScope). What is behind them, what is young and what others announce, too, is expected of nobody.
  Announced(const Look& look, const std::set<std::string>& deaf);

  // The rails on which the node hears what others announce.
  RailSet RailsOf(const Node& node) const;
  // Addresses of the tenant on these rails, less the node's own.
  size_t To(const Node& node, std::string_view tenant, const RailSet& rails) const;
  // Addresses of the tenant on these rails, by group. It stays where it is.
  const Counts& Groups(std::string_view tenant, const RailSet& rails);
  // When the youngest is old enough; 0: none is young.
  int64_t NextLookMs() const { return next_look_ms_; }

 private:
  struct Entry {
    const Cell* cell = nullptr;
    size_t addresses = 0;
  };
  struct OfTenant {
    std::vector<Entry> entries;         // by node
    std::map<uint32_t, size_t> totals;  // by the rail's index
  };

  void AddNode(const Node& node);
  bool IsYoung(int64_t since_ms);

  const Look& look_;
  const std::set<std::string>& deaf_;
  std::unordered_map<std::string_view, OfTenant> of_tenant_;
  std::map<std::pair<const Node*, std::string_view>, std::map<uint32_t, size_t>> own_;  // by the rail's index
  std::map<std::pair<std::string_view, std::string>, Counts> groups_;                   // by tenant and rails
  std::set<std::string> units_;
  int64_t next_look_ms_ = 0;
};

}  // namespace rail::fabric
