#include "lib/printing/findings.h"

#include <algorithm>
#include <map>

#include "lib/base/utf8.h"

namespace rail::printing {
namespace {

void Print(const v1::Finding& finding, Unfold unfold, const std::string& indent, std::ostream& out,
           const Painter& paint) {
  out << indent << paint(v1::Finding::Severity_Name(finding.severity())) << ' ' << finding.id() << ": "
      << OneLine(finding.subject()) << '\n'
      << indent << "  what: " << OneLine(finding.what()) << '\n'
      << indent << "  why:  " << OneLine(finding.why()) << '\n'
      << indent << "  do:   " << OneLine(finding.fix()) << '\n';
  if (finding.follows_size() == 0) return;
  out << indent << "  follows: " << finding.follows_in_short()
      << (unfold == Unfold::kCauses ? " (`railctl doctor --all` shows them)\n" : "\n");
  if (unfold == Unfold::kCauses) return;
  for (const v1::Finding& each : finding.follows()) Print(each, unfold, indent + "    ", out, paint);
}

void AddWithFollows(const v1::Finding& finding, std::vector<const v1::Finding*>& all) {
  all.push_back(&finding);
  for (const v1::Finding& each : finding.follows()) AddWithFollows(each, all);
}

}  // namespace

bool FindsWrong(const v1::DoctorResponse& found) {
  return std::ranges::any_of(found.findings(),
                             [](const v1::Finding& f) { return f.severity() >= v1::Finding::WARNING; });
}

void PrintFinding(const v1::Finding& finding, Unfold unfold, std::ostream& out, const Painter& paint) {
  Print(finding, unfold, "", out, paint);
}

void PrintFindings(const v1::DoctorResponse& found, Unfold unfold, std::ostream& out, const Painter& paint) {
  for (const v1::Finding& finding : found.findings()) {
    Print(finding, unfold, "", out, paint);
    out << '\n';
  }
  out << CountFindings(found) << "; looked for " << found.checks() << " kinds of findings\n";
}

std::string CountFindings(const v1::DoctorResponse& found) {
  std::map<v1::Finding::Severity, int> counts;
  for (const v1::Finding& finding : found.findings()) ++counts[finding.severity()];
  const size_t follow = EveryFinding(found).size() - static_cast<size_t>(found.findings_size());
  return std::to_string(counts[v1::Finding::CRITICAL]) + " critical, " +
         std::to_string(counts[v1::Finding::WARNING]) + " warnings, " +
         std::to_string(counts[v1::Finding::INFO]) + " for information" +
         (follow > 0 ? ", and " + std::to_string(follow) + " that follow" : "");
}

std::vector<const v1::Finding*> EveryFinding(const v1::DoctorResponse& found) {
  std::vector<const v1::Finding*> all;
  for (const v1::Finding& finding : found.findings()) AddWithFollows(finding, all);
  return all;
}

std::string OneLine(std::string text) {
  return WithoutControls(text, ' ');
}

}  // namespace rail::printing
