#include "cmd/railctl/findings.h"

#include <algorithm>
#include <map>

namespace rail::railctl {
namespace {

void Print(const v1::Finding& finding, Unfold unfold, const std::string& indent, std::ostream& out) {
  out << indent << v1::Finding::Severity_Name(finding.severity()) << ' ' << finding.id() << ": "
      << OneLine(finding.subject()) << '\n'
      << indent << "  what: " << OneLine(finding.what()) << '\n'
      << indent << "  why:  " << OneLine(finding.why()) << '\n'
      << indent << "  do:   " << OneLine(finding.fix()) << '\n';
  if (finding.follows_size() == 0) return;
  out << indent << "  follows: " << finding.follows_in_short()
      << (unfold == Unfold::kCauses ? " (`railctl doctor --all` shows them)\n" : "\n");
  if (unfold == Unfold::kCauses) return;
  for (const v1::Finding& each : finding.follows()) Print(each, unfold, indent + "    ", out);
}

int CountFollows(const v1::Finding& finding) {
  int count = finding.follows_size();
  for (const v1::Finding& each : finding.follows()) count += CountFollows(each);
  return count;
}

}  // namespace

bool FindsWrong(const v1::DoctorResponse& found) {
  return std::ranges::any_of(found.findings(),
                             [](const v1::Finding& f) { return f.severity() >= v1::Finding::WARNING; });
}

void PrintFindings(const v1::DoctorResponse& found, Unfold unfold, std::ostream& out) {
  std::map<v1::Finding::Severity, int> counts;
  int follow = 0;
  for (const v1::Finding& finding : found.findings()) {
    ++counts[finding.severity()];
    follow += CountFollows(finding);
    Print(finding, unfold, "", out);
    out << '\n';
  }
  out << counts[v1::Finding::CRITICAL] << " critical, " << counts[v1::Finding::WARNING] << " warnings, "
      << counts[v1::Finding::INFO] << " for information";
  if (follow > 0) out << ", and " << follow << " that follow";
  out << "; looked for " << found.checks() << " kinds of findings\n";
}

std::string OneLine(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

}  // namespace rail::railctl
