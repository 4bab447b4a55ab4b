// Every kind of cause and of what a rail shows: id, severity, why, fix. One table.
//
// Use:      const Kind& kind = KindOf("leaf-down");
// Threads:  constants
#pragma once

#include <span>
#include <string_view>

#include "rail/v1/node.pb.h"

namespace rail::fabric {

struct Kind {
  std::string_view id;
  v1::Finding::Severity severity = v1::Finding::SEVERITY_UNSPECIFIED;
  std::string_view noun;  // of several that follow: "rails without a session"
  std::string_view why;
  std::string_view fix;
};

std::span<const Kind> Kinds();
// An id that is in the table.
const Kind& KindOf(std::string_view id);

}  // namespace rail::fabric
