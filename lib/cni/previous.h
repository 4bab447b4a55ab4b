// The result that a plugin is given: of the plugin before it (ADD), or of the whole ADD (CHECK).
//
// Use:      RAIL_ASSIGN(AddResult previous, PreviousResult(request));
//           return PassOn(request);                                    // ADD of a plugin that adds nothing to it
// Threads:  any thread
// Source:   CNI SPEC.md 1.1.0 section 2 "CHECK", section 3 "Deriving request configuration from plugin configuration"
#pragma once

#include <string>

#include "lib/cni/error.h"
#include "lib/cni/request.h"
#include "lib/cni/result.h"

namespace rail::cni {

// prevResult, read by its own version. Errors: code 7, it is missing or names every key of it that is wrong.
Outcome<AddResult> PreviousResult(const Request& request);

// prevResult whole, in the configuration's version. Errors: as PreviousResult.
Outcome<std::string> PassOn(const Request& request);

}  // namespace rail::cni
