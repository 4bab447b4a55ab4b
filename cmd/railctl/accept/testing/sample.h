// Reports for tests: one that has a bit of everything, and a full mesh of any size.
//
// Use:      const v1::AcceptReport report = Sample();
// Threads:  pure functions
#pragma once

#include <string>

#include "rail/v1/accept_report.pb.h"

namespace rail::accept {

v1::AcceptReport::Attempt& AddAttempt(v1::AcceptReport::Check& check, v1::AcceptReport::Verdict verdict,
                                      const std::string& rail, const std::string& from,
                                      const std::string& to);
v1::AcceptReport::Check& AddCheck(v1::AcceptReport& report, const std::string& id,
                                  v1::AcceptReport::Verdict verdict, const std::string& why);

// Begins with what passed: four nodes, two rails; a forged source that arrives, a counter that cannot be read, a slow pair, hostile names.
v1::AcceptReport Sample();

// Three checks from each node to each other on each rail: reach, latency, bandwidth; one of a hundred pairs fails.
v1::AcceptReport Mesh(int nodes, int rails);

}  // namespace rail::accept
