// Gives up every capability that raild does not need, for good: also for what it executes (IPAM plugins).
//
// Use:      RAIL_TRY(DropPrivileges());     // before the first thread: capabilities are a thread's
// Threads:  the one that calls, and those that it makes later
// Source:   capabilities(7), prctl(2); README.md of this folder (what each is needed for)
#pragma once

#include <cstdint>

#include "lib/base/error.h"

namespace rail::raild {

// The capabilities that raild keeps, if it was given them.
uint64_t NeededCapabilities();

// Errors: kPermission, what the kernel says. May be called by a process without any capability.
Status DropPrivileges();

}  // namespace rail::raild
