// Makes a folder for a file of ours.
//
// Use:      RAIL_TRY(MakeFolder("/var/lib/railcni", 0750));
// Threads:  any thread; two that make the same folder at once both succeed
// Source:   mkdir(2), chmod(2)
#pragma once

#include <sys/types.h>

#include <string>

#include "lib/base/error.h"

namespace rail {

// Makes the folder and those above it that are not there, each with exactly `mode` (no umask). What is there stays as it is. May be
// repeated. Errors: of mkdir(2) and chmod(2), with the path.
Status MakeFolder(const std::string& path, mode_t mode);

}  // namespace rail
