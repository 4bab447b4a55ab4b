// The report of `railctl accept`: what it comes to, as JSON, and as a table for people. Its other forms: junit, page, diff.
//
// Use:      PrintReport(report, Painter(flags.color), std::cout);   return ExitCodeOf(report);
//           RAIL_ASSIGN(const v1::AcceptReport before, ParseReport(text));
// Threads:  pure functions
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "cmd/railctl/accept/parts.h"
#include "lib/base/error.h"
#include "lib/printing/color.h"
#include "rail/v1/accept_report.pb.h"

namespace rail::accept {

// The schema that this railctl writes, and the newest that it reads.
constexpr uint32_t kSchema = 1;

// The worst of its attempts: fail over could-not-measure over pass. A check without an attempt could not be measured.
v1::AcceptReport::Verdict Worst(const v1::AcceptReport::Check& check);
// What a check counts as: the worse of the verdict that it has and of Worst. A check that says "pass" and shows nothing proves nothing.
v1::AcceptReport::Verdict VerdictOf(const v1::AcceptReport::Check& check);

struct Counts {
  int failed = 0;
  int unmeasured = 0;
  int passed = 0;
};
Counts Count(const v1::AcceptReport& report);
// 0: all passed; 1: something failed; 3: something could not be measured and nothing failed, or nothing was checked.
int ExitCodeOf(const v1::AcceptReport& report);
// "1 failed, 2 could not be measured, 9 passed"
std::string CountsOf(const v1::AcceptReport& report);
// What ExitCodeOf stands for: "something failed".
std::string MeaningOf(const v1::AcceptReport& report);

// The checks by their verdicts, what failed first; else as the report has them.
std::vector<const v1::AcceptReport::Check*> WorstFirst(const v1::AcceptReport& report);

// protobuf's form, indented, with the field names of accept_report.proto and every plain field; one report has one text. Empty:
// protobuf cannot write it, as a time beyond the year 9999.
std::string AsJson(const v1::AcceptReport& report);
// The same in one line, without its end.
std::string AsJsonLine(const v1::AcceptReport& report);
// Errors: kInvalid: no JSON, with line and column; no report; a field of another type. kUnsupported: a schema above kSchema. Fields
// that this railctl does not know are left out.
Result<v1::AcceptReport> ParseReport(const std::string& text);

// At most 120 columns: groups and their checks, what failed first, with the evidence of up to 3 attempts of each that did not pass;
// the last line says counts, duration and exit status.
void PrintReport(const v1::AcceptReport& report, const printing::Painter& paint, std::ostream& out);

}  // namespace rail::accept
