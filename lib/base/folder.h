// Makes a folder for files of ours, and lists it.
//
// Use:      RAIL_TRY(MakeFolder("/var/lib/railcni", 0750));   RAIL_ASSIGN(const auto names, NamesIn("/var/lib/railcni"));
// Threads:  any thread; two that make the same folder at once both succeed
// Source:   mkdir(2), chmod(2), readdir(3)
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "lib/base/error.h"

namespace rail {

// Makes the folder and those above it that are not there, each with exactly `mode` (no umask). What is there stays as it is. May be
// repeated. Errors: of mkdir(2) and chmod(2), with the path.
Status MakeFolder(const std::string& path, mode_t mode);

// The names in it, sorted. Errors: of open(2) and readdir(3), with the path.
Result<std::vector<std::string>> NamesIn(const std::string& folder);

}  // namespace rail
