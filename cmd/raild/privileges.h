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

// CAP_SYS_PTRACE stays where the bounding set was chosen for raild (it lacks CAP_SETPCAP) and has it: a pod's namespace by the path of
// a process needs it (cri-dockerd).
// Errors: kPermission, what the kernel says. May be called by a process without any capability.
Status DropPrivileges();

}  // namespace rail::raild
