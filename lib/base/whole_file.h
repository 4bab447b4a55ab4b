// A file that readers see old or new, never half: written beside the old one, flushed to the disk, then renamed.
//
// Use:      RAIL_TRY(WriteWholeFile("/var/lib/railcni/origin.json", text, 0600));
// Threads:  one writer for each path
// Source:   rename(2), fsync(2)
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "lib/base/error.h"

namespace rail {

// Makes the folder (0750) if it is missing. When this returns, the file is on the disk. Safe to repeat.
// Errors: of open(2), write(2), rename(2); the old file stays.
Status WriteWholeFile(const std::string& path, std::string_view text, mode_t mode);

}  // namespace rail
