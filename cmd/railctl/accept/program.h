// Runs one end of a program of perftest, and reads its report.
//
// Use:      RAIL_ASSIGN(const v1::RunPerftestResponse response, RunPerftest(request, "/sys", end));
// Threads:  any; RunPerftest waits for the program. The program is in the network namespace of the thread.
// Owns:     the process: it ends with the call
// Source:   perftest's perftest_parameters.h (RESULT_FMT_G, RESULT_FMT_LAT), posix_spawn(3), pidfd_open(2)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cmd/railctl/accept/agent_call.h"
#include "lib/base/error.h"
#include "rail/v1/accept.pb.h"

namespace rail::accept {

// Those of the programs that PATH has.
std::vector<std::string> ListPrograms();

// The words of the line that RunPerftest runs. In place of seconds *_lat gets a number of exchanges, 1,000 for each second and
// at most 1,000,000: for a time it would tell the average alone.
std::vector<std::string> PerftestCommand(const v1::RunPerftestRequest& request);

// Puts what `output` reports into `response`.
void ReadReport(std::string_view output, v1::RunPerftestResponse& response);

// Kills the program `more_seconds` after the time that it is to send. Its status then is 137, as a shell says it. `sysfs`: where the device is
// looked for. Errors: kInvalid the request; kNotFound no such program, no such device; of posix_spawn(3); kTransient `end`.
Result<v1::RunPerftestResponse> RunPerftest(const v1::RunPerftestRequest& request, const std::string& sysfs,
                                            const Wake& end);

}  // namespace rail::accept
