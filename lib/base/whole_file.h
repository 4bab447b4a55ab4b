// Files whole. Of a write a reader, another writer or a crash finds the old content or the new one, never a part.
//
// Use:      RAIL_TRY(WriteWhole("/var/lib/railcni/tenants.json", text, 0644));   RAIL_ASSIGN(const std::string text, ReadWhole(path));
// Threads:  any thread; of several that write one file at once, one content stays, whole
// Source:   rename(2), unlink(2), fsync(2), mkostemp(3)
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "lib/base/error.h"

namespace rail {

// Errors: of open(2) and read(2), with the path.
Result<std::string> ReadWhole(const std::string& path);

// Puts a new file with `content` and exactly `mode` (no umask) in the place of `path`, flushed to the disk with its name. A
// symbolic link at `path` is replaced, not followed. A process that is killed meanwhile leaves ".<name>.railcni-XXXXXX" beside it.
// Errors: of open(2), write(2), fsync(2), rename(2), with the path; the old file stays and no temporary file does. After the
// rename only the flush of the folder can fail: then the new file is there, but a power loss may bring the old one back.
Status WriteWhole(const std::string& path, std::string_view content, mode_t mode);

// Removes a file so that a power loss does not bring it back. One that is not there is success. Errors: of unlink(2), fsync(2), with
// the path.
Status RemoveWhole(const std::string& path);

}  // namespace rail
