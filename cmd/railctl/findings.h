// The doctor's findings as text: the causes, each with one line of what follows from it, or with all of that below it.
//
// Use:      PrintFindings(response, Unfold::kCauses, std::cout);  return FindsWrong(response) ? 1 : 0;
// Threads:  pure functions
#pragma once

#include <ostream>
#include <string>

#include "rail/v1/node.pb.h"

namespace rail::railctl {

enum class Unfold { kCauses, kAll };

// Whether one of them is a warning or worse.
bool FindsWrong(const v1::DoctorResponse& found);

void PrintFindings(const v1::DoctorResponse& found, Unfold unfold, std::ostream& out);

// `text` without control characters, which would end the line or move the cursor.
std::string OneLine(std::string text);

}  // namespace rail::railctl
