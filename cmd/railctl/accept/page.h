// A report as one HTML page that needs nothing else: no script, no font, no picture, no request. Checks that failed come first.
//
// Use:      file << AsPage(report);
// Threads:  pure functions
// Source:   Content Security Policy Level 3 (the page forbids itself every request); HTML Living Standard 13.1.2.4 (end tags of cells
//           and rows may be left out, which halves a large matrix)
#pragma once

#include <string>

#include "rail/v1/accept_report.pb.h"

namespace rail::accept {

// Attempts between pods are a matrix for each rail. An attempt that did not pass has its evidence whole, until that is 2 MB in all; those
// that passed have theirs whole while they are few (40), else the first of each rail has. 64 nodes on 8 rails make less than 5 MB.
std::string AsPage(const v1::AcceptReport& report);

}  // namespace rail::accept
