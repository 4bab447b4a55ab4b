// Two reports compared: what got worse, what got better, what is new or gone.
//
// Use:      const std::vector<Difference> found = Compare(before, after);
//           PrintDifferences(found, Painter(flags.color), std::cout);   return IsWorse(found) ? 1 : 0;
// Threads:  pure functions
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "lib/printing/color.h"
#include "rail/v1/accept_report.pb.h"

namespace rail::accept {

struct Difference {
  enum class Of { kCheck, kAttempt, kValue, kVersion };
  enum class Course { kWorse, kBetter, kChanged };
  Of of = Of::kCheck;
  Course course = Course::kChanged;
  std::string check;   // its id; empty: of a version
  std::string where;   // "rail0 ml/a -> ml/b", "median of rail0", "kernel of gpu-1"; empty: the whole check
  std::string before;  // a verdict's word, a figure, a version; empty: it was not there
  std::string after;   // as before; empty: it is gone
};

// Attempts of a check belong together by rail and pods; several of one kind by their order. Where no two pods of a check's rail have
// the names that they had, the medians of the rail are compared. A value differs that is more than 10 % worse (Gb/s lower, us higher) or
// better; of other units neither is known. The order: the checks of `after`, then what is gone, then versions.
std::vector<Difference> Compare(const v1::AcceptReport& before, const v1::AcceptReport& after);

// Worse first; at most 10 of a kind for each check, and how many more there are.
void PrintDifferences(const std::vector<Difference>& found, const printing::Painter& paint,
                      std::ostream& out);

// Whether a verdict got worse or a check that passed is gone. Values alone decide nothing: a check has its own threshold.
bool IsWorse(const std::vector<Difference>& found);

}  // namespace rail::accept
