#include <map>

#include "cmd/railctl/color.h"
#include "cmd/railctl/commands.h"

namespace rail::railctl {

std::string CountFindings(const v1::DoctorResponse& response) {
  std::map<v1::Finding::Severity, int> counts;
  for (const v1::Finding& finding : response.findings()) ++counts[finding.severity()];
  return std::to_string(counts[v1::Finding::CRITICAL]) + " critical, " +
         std::to_string(counts[v1::Finding::WARNING]) + " warnings, " +
         std::to_string(counts[v1::Finding::INFO]) + " for information";
}

void PrintFinding(const Context& context, const v1::Finding& finding) {
  context.out << Painter(context.flags.color)(v1::Finding::Severity_Name(finding.severity())) << ' '
              << finding.id() << ": " << OneLine(finding.subject()) << '\n'
              << "  what: " << OneLine(finding.what()) << '\n'
              << "  why:  " << OneLine(finding.why()) << '\n'
              << "  do:   " << OneLine(finding.fix()) << '\n';
}

ExitCode Doctor(const Context& context) {
  v1::DoctorResponse response;
  RAIL_TRY(context.client.Ask(&v1::Node::Stub::Doctor, v1::DoctorRequest(), response));
  if (context.flags.format == Format::kJson) {
    RAIL_TRY(PrintJson(context, response));
  } else {
    for (const v1::Finding& finding : response.findings()) {
      PrintFinding(context, finding);
      context.out << '\n';
    }
    context.out << CountFindings(response) << "; looked for " << response.checks() << " kinds of findings\n";
  }
  return IsWell(response) ? kDone : kFailed;
}

bool IsWell(const v1::DoctorResponse& response) {
  for (const v1::Finding& finding : response.findings()) {
    if (finding.severity() >= v1::Finding::WARNING) return false;
  }
  return true;
}

}  // namespace rail::railctl
