#include "cmd/railctl/accept/junit.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "cmd/railctl/accept/report.h"
#include "lib/base/text.h"

namespace rail::accept {
namespace {

std::string EvidenceOf(const Attempt& attempt) {
  std::string text = WordOf(attempt.verdict());
  for (const std::string& part : {WhereOf(attempt), FigureOf(attempt)}) {
    if (!part.empty()) Append(text, " ", part);
  }
  if (RankOf(attempt.verdict()) > 0) {
    text += "; did: " + attempt.did();
    if (!attempt.control().empty()) text += "; control: " + attempt.control();
    text += "; seen: " + attempt.seen();
  }
  return Escaped(text) + "\n";
}

// What the schema takes as a time.
std::string Seconds(double seconds) {
  return fmt::format("{:.3f}", seconds > 0 && seconds < 1e9 ? seconds : 0.0);
}

void AddCase(const Check& check, std::string& out) {
  out += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{}\">\n", Escaped(check.group()),
                     Escaped(check.id()), Seconds(check.seconds()));
  const std::string why = Escaped(check.why().empty() ? check.title() : check.why());
  switch (RankOf(VerdictOf(check))) {
    case 2: out += fmt::format("      <failure type=\"fail\" message=\"{0}\">{0}</failure>\n", why); break;
    case 1: out += fmt::format("      <skipped message=\"{}\"/>\n", why); break;
    default: break;
  }
  out += "      <system-out>" + Escaped(check.title()) + "\n";
  for (const Attempt& attempt : check.attempts()) out += EvidenceOf(attempt);
  out += "</system-out>\n    </testcase>\n";
}

}  // namespace

std::string AsJunit(const Report& report) {
  std::vector<std::string> order;
  std::map<std::string, Report> groups;  // each a report of one group
  for (const Check& check : report.checks()) {
    if (!groups.contains(check.group())) order.push_back(check.group());
    *groups[check.group()].add_checks() = check;
  }
  const Counts all = Count(report);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format(
      "<testsuites name=\"railctl accept\" tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"{}\">\n",
      report.checks_size(), all.failed, Seconds(report.seconds()));
  const std::string timestamp = report.has_started() ? " timestamp=\"" + StartedOf(report) + "\"" : "";
  for (const std::string& name : order) {
    const Report& group = groups[name];
    const Counts counts = Count(group);
    double seconds = 0;
    for (const Check& check : group.checks()) seconds += check.seconds();
    out += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{}\"{}>\n",
        Escaped(name.empty() ? "other" : name), group.checks_size(), counts.failed, counts.unmeasured,
        Seconds(seconds), timestamp);
    for (const Check& check : group.checks()) AddCase(check, out);
    out += "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

}  // namespace rail::accept
