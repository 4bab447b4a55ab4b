// A report as JUnit XML, for CI systems: a test suite for each group, a test case for each check. What could not be measured is skipped.
//
// Use:      file << AsJunit(report);
// Threads:  pure functions
// Source:   jenkinsci/xunit-plugin, junit-10.xsd, which has no `skipped` of `testsuites`; GitLab and pytest's xunit2 read the same
#pragma once

#include <string>

#include "rail/v1/accept_report.pb.h"

namespace rail::accept {

// Attempts that passed have one line each, others all that they have.
std::string AsJunit(const v1::AcceptReport& report);

}  // namespace rail::accept
