// What every form of a report shares: the order of verdicts, and figures, places and times as text.
//
// Use:      if (RankOf(Known(attempt.verdict())) > 0) out << WhereOf(attempt) << ": " << FigureOf(attempt);
// Threads:  pure functions
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rail/v1/accept_report.pb.h"

namespace rail::accept {

using Report = v1::AcceptReport;
using Check = Report::Check;
using Attempt = Report::Attempt;
using Verdict = Report::Verdict;

// A verdict that is not set, or that this railctl does not know, says nothing: could-not-measure.
Verdict Known(Verdict verdict);
// 0 pass, 1 could-not-measure, 2 fail.
int RankOf(Verdict verdict);
std::string WordOf(Verdict verdict);         // "could-not-measure"
std::string_view SymbolOf(Verdict verdict);  // one character: "✗", "?", "✓"

std::string Figure(double value, std::string_view unit);  // "389.1 Gb/s"
std::string FigureOf(const Attempt& attempt);             // "" of an attempt without one
// Whether the attempt has a figure that was measured.
bool IsMeasured(const Attempt& attempt);
// "ml/a -> ml/b"; "rail0 ml/a -> ml/b". Parts that the attempt does not have are left out.
std::string PodsOf(const Attempt& attempt, std::string_view arrow = " -> ");
std::string WhereOf(const Attempt& attempt, std::string_view arrow = " -> ");
std::string Duration(double seconds);                    // "42 s", "3 min 12 s", "1 h 4 min"
std::string StartedOf(const Report& report);             // "2026-03-01T03:00:00Z"; "a time not known"
std::string Times(size_t count, std::string_view what);  // "1 node", "2 nodes"

// The middle one, or the mean of the two in the middle. `values`: one at least.
double Median(std::vector<double> values);

// As text and as an attribute of XML 1.0 and HTML: valid UTF-8, `&lt;` and its like, no control characters, none that XML forbids.
std::string Escaped(std::string_view text);

// `text` in lines of at most `width` characters: broken at spaces, or inside a word that is longer. One line at least.
std::vector<std::string> Wrapped(std::string_view text, size_t width);

}  // namespace rail::accept
