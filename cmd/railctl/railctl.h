// What railctl does once its command line is understood: ask raild, print the answer.
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

// Answers to `out`, one sentence to `err` when it fails. Returns the exit code: kDone, or kFailed when it failed or the answer is
// a bad one (flags.h).
// A watch goes on until raild ends it (kFailed) or the process is killed.
int Run(const Flags& flags, std::ostream& out, std::ostream& err, const Now& now);

}  // namespace rail::railctl
