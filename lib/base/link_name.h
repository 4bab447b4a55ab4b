// Names that mean something else to the kernel than one link.
//
// Use:      if (StandsForLinks(name)) ...
// Threads:  pure functions
// Source:   Linux net/core/dev.c (dev_prep_valid_name), net/core/sysctl_net_core.c (sysctl_dev_name_is_allowed)
#pragma once

#include <string_view>

namespace rail {

// A name with '%' is a pattern: a link renamed to "net%d" becomes net0. Under /proc/sys/net "all" and "default" are no link.
inline bool StandsForLinks(std::string_view name) {
  return name.find('%') != std::string_view::npos || name == "all" || name == "default";
}

}  // namespace rail
