// Runs a command of railctl: asks raild and prints the answer.
//
// Use:      return Run(flags, std::cout, std::cerr, now_ms);
// Threads:  one
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>

#include "cmd/railctl/flags.h"

namespace rail::railctl {

// Unix time in milliseconds; ages are counted from it.
using Now = std::function<int64_t()>;

// Writes the answer to `out`, or one sentence to `err` when it fails. Returns the exit code (flags.h): kDone; kFailed when it fails or
// has found something wrong; kUsage when the question is wrong; kCannotAsk when `status` fails.
// A watch runs until raild ends it (kFailed) or the process is killed.
int Run(const Flags& flags, std::ostream& out, std::ostream& err, const Now& now);

}  // namespace rail::railctl
