// The rules of the specification for the names that come from outside.
//
// Threads:  any thread
// Source:   CNI SPEC.md 1.1.0 section 2; reference utils package for codes and messages
#pragma once

#include <string>

#include "lib/cni/error.h"

namespace rail::cni {

// A letter or digit, then letters, digits, '_', '.', '-'; no limit of length. Errors: code 4.
Outcome<void> ValidateContainerId(const std::string& id);

// The same form. Errors: code 7.
Outcome<void> ValidateNetworkName(const std::string& name);

// What the kernel takes as the name of a link: 1..15 bytes, not "." or "..", no '/', ':', Unicode white space
// or control characters; and none that means more than one link to it: '%', "all", "default". Errors: code 4.
Outcome<void> ValidateInterfaceName(const std::string& name);

}  // namespace rail::cni
