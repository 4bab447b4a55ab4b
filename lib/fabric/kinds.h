// Every kind of cause, and all that a rail or a node shows: id, severity, why, fix. One table.
//
// Use:      const Kind& kind = KindOf("leaf-down");
// Threads:  constants
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rail/v1/node.pb.h"

namespace rail::fabric {

struct Kind {
  enum class Of : uint8_t {
    kFabric,  // a cause that no node shows by itself
    kLink,    // a rail has no way to its leaf
    kRail,    // another thing that a rail shows
    kEffect,  // the same; it follows where the rail has something that is no effect
    kNode,    // a node shows it
  };
  std::string id;
  Of of = Of::kFabric;
  v1::Finding::Severity severity = v1::Finding::SEVERITY_UNSPECIFIED;
  int64_t settle_ms = 0;  // it may pass by itself: how long it has to stand
  std::string one;        // "rail without a session"; of several:
  std::string many;
  std::string why;
  std::string fix;
};

std::span<const Kind> Kinds();
// The kind with an id that is in the table.
const Kind& KindOf(std::string_view id);

}  // namespace rail::fabric
