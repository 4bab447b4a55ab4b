// The doctor's findings as text: the causes, each with one line of what follows from it, or with all of that below it.
//
// Use:      PrintFindings(response, Unfold::kCauses, std::cout);  return FindsWrong(response) ? 1 : 0;
// Threads:  pure functions
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "lib/printing/color.h"
#include "rail/v1/node.pb.h"

namespace rail::printing {

enum class Unfold { kCauses, kAll };

// Whether one of them is a warning or worse.
bool FindsWrong(const v1::DoctorResponse& found);

void PrintFindings(const v1::DoctorResponse& found, Unfold unfold, std::ostream& out,
                   const Painter& paint = Painter(false));
void PrintFinding(const v1::Finding& finding, Unfold unfold, std::ostream& out, const Painter& paint);

// "1 critical, 4 warnings, 2 for information, and 3 that follow"
std::string CountFindings(const v1::DoctorResponse& found);

// Causes and what follows from them at any depth, each cause first.
std::vector<const v1::Finding*> EveryFinding(const v1::DoctorResponse& found);

// `text` without control characters, which would end the line or move the cursor.
std::string OneLine(std::string text);

}  // namespace rail::printing
