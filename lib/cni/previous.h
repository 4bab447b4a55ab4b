// prevResult: the result of the plugin before this one (ADD), or of the whole ADD (CHECK).
//
// Use:      RAIL_ASSIGN(AddResult previous, PreviousResult(request));
//           return PassOn(request);                                    // in an ADD that changes nothing in the result
// Threads:  any thread
// Source:   CNI SPEC.md 1.1.0 section 2 "CHECK", section 3 "Deriving request configuration from plugin configuration"
#pragma once

#include <string>

#include "lib/cni/error.h"
#include "lib/cni/request.h"
#include "lib/cni/result.h"

namespace rail::cni {

// prevResult, parsed by its own version. Errors: code 7 it is missing, or has wrong keys (the message names every one).
Outcome<AddResult> PreviousResult(const Request& request);

// prevResult with all its fields, in the configuration's version. Errors: as PreviousResult.
Outcome<std::string> PassOn(const Request& request);

}  // namespace rail::cni
