// What a node's document shows of a rail and of the node itself: kinds, the worst first, and raild's own words for them.
//
// Use:      for (const Kind* kind : ShownBy(rail, pods)) text = SentenceOf(rail, *kind);
// Threads:  pure functions
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/fabric/kinds.h"
#include "rail/v1/state.pb.h"

namespace rail::fabric {

// The attachments of a node's rail. Counts.
struct PodsOfRail {
  uint32_t all = 0;
  uint32_t without_rules = 0;
  uint32_t without_device = 0;
  uint32_t pending = 0;

  void Add(const v1::Attachment& attachment);
};

std::vector<const Kind*> ShownBy(const v1::Rail& rail, const PodsOfRail& pods);
// Of the node, beside its parts.
std::vector<const Kind*> ShownBy(const v1::NodeState& state);

// raild's words; where it has none, the kind's `why`.
std::string SentenceOf(const v1::Rail& rail, const Kind& kind);

}  // namespace rail::fabric
