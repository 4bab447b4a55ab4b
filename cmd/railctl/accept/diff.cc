#include "cmd/railctl/accept/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "cmd/railctl/accept/report.h"
#include "lib/base/text.h"
#include "lib/printing/findings.h"

namespace rail::accept {
namespace {

using Of = Difference::Of;
using Course = Difference::Course;

constexpr double kTolerance = 0.10;
constexpr size_t kMostOfOne = 10;  // lines for each check and kind
constexpr size_t kMostNodes = 3;   // names in a line
constexpr size_t kWidth = 120;

using Pods = std::tuple<std::string, std::string, int>;  // from, to, which one of several
using Attempts = std::map<Pods, const Attempt*>;

std::map<std::string, Attempts> ByRail(const Check& check) {
  std::map<std::string, Attempts> rails;
  for (const Attempt& attempt : check.attempts()) {
    Attempts& rail = rails[attempt.rail()];
    int which = 0;
    while (!rail.try_emplace({attempt.from(), attempt.to(), which}, &attempt).second) ++which;
  }
  return rails;
}

std::map<std::string, std::vector<double>> ByUnit(const Attempts& attempts) {
  std::map<std::string, std::vector<double>> values;
  for (const auto& [pods, attempt] : attempts) {
    if (IsMeasured(*attempt)) values[attempt->unit()].push_back(attempt->value());
  }
  return values;
}

Course CourseOf(Verdict before, Verdict after) {
  return RankOf(after) > RankOf(before) ? Course::kWorse : Course::kBetter;
}

void CompareValues(Difference found, double before, double after, const std::string& unit,
                   std::vector<Difference>& all) {
  if (!(std::abs(after - before) > kTolerance * std::abs(before))) return;
  const bool grew = after > before;
  found.of = Of::kValue;
  if (unit == "us") found.course = grew ? Course::kWorse : Course::kBetter;
  if (unit == "Gb/s") found.course = grew ? Course::kBetter : Course::kWorse;
  found.before = Figure(before, unit);
  found.after = Figure(after, unit);
  if (before != 0) found.after += fmt::format(" ({:+.0f} %)", 100 * (after - before) / std::abs(before));
  all.push_back(std::move(found));
}

void CompareAttempts(const std::string& check, const Attempt& before, const Attempt& after,
                     std::vector<Difference>& all) {
  Difference found = {.check = check, .where = WhereOf(after)};
  if (RankOf(before.verdict()) != RankOf(after.verdict())) {
    found.of = Of::kAttempt;
    found.course = CourseOf(before.verdict(), after.verdict());
    found.before = WordOf(before.verdict());
    found.after = WordOf(after.verdict());
    all.push_back(found);
  }
  if (IsMeasured(before) && IsMeasured(after) && before.unit() == after.unit()) {
    found.course = Course::kChanged;
    CompareValues(std::move(found), before.value(), after.value(), after.unit(), all);
  }
}

void CompareRails(const std::string& check, const std::string& rail, const Attempts& before,
                  const Attempts& after, std::vector<Difference>& all) {
  bool same_pods = false;
  for (const auto& [pods, attempt] : after) {
    const auto was = before.find(pods);
    if (was == before.end()) continue;
    same_pods = true;
    CompareAttempts(check, *was->second, *attempt, all);
  }
  if (same_pods) return;
  const auto old = ByUnit(before);
  for (const auto& [unit, values] : ByUnit(after)) {
    const auto was = old.find(unit);
    if (was == old.end()) continue;
    Difference found = {.check = check, .where = rail.empty() ? "median" : "median of " + rail};
    CompareValues(std::move(found), Median(was->second), Median(values), unit, all);
  }
}

void CompareChecks(const Check& before, const Check& after, std::vector<Difference>& all) {
  const Verdict was = VerdictOf(before);
  const Verdict is = VerdictOf(after);
  if (was != is) all.push_back({Of::kCheck, CourseOf(was, is), after.id(), "", WordOf(was), WordOf(is)});
  const std::map<std::string, Attempts> old = ByRail(before);
  for (const auto& [rail, attempts] : ByRail(after)) {
    const auto there = old.find(rail);
    if (there != old.end()) CompareRails(after.id(), rail, there->second, attempts, all);
  }
}

void CompareVersions(const Report& before, const Report& after, std::vector<Difference>& all) {
  if (before.version() != after.version())
    all.push_back({Of::kVersion, Course::kChanged, "", "railctl", before.version(), after.version()});
  std::map<std::string, const Report::Node*> old;
  for (const Report::Node& node : before.nodes()) old[node.name()] = &node;
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::string>> changed;  // the nodes
  for (const Report::Node& node : after.nodes()) {
    if (!old.contains(node.name())) continue;
    for (const auto& [part, version] : node.versions()) {
      const auto was = old[node.name()]->versions().find(part);
      if (was != old[node.name()]->versions().end() && was->second != version)
        changed[{part, was->second, version}].push_back(node.name());
    }
  }
  for (auto& [change, nodes] : changed) {
    const size_t more = nodes.size() > kMostNodes ? nodes.size() - kMostNodes : 0;
    nodes.resize(nodes.size() - more);
    const auto& [part, was, is] = change;
    const std::string where =
        part + " of " + Join(nodes, ", ") + (more > 0 ? fmt::format(" and {} more", more) : "");
    all.push_back({Of::kVersion, Course::kChanged, "", where, was, is});
  }
}

const char* WordOfCourse(Course course) {
  return course == Course::kWorse ? "worse" : course == Course::kBetter ? "better" : "changed";
}

}  // namespace

std::vector<Difference> Compare(const Report& before, const Report& after) {
  std::vector<Difference> all;
  std::map<std::string, const Check*> old;
  for (const Check& check : before.checks()) old[check.id()] = &check;
  for (const Check& check : after.checks()) {
    const auto was = old.find(check.id());
    if (was == old.end()) {
      all.push_back({Of::kCheck, Course::kChanged, check.id(), "", "", WordOf(VerdictOf(check))});
    } else {
      CompareChecks(*was->second, check, all);
      old.erase(was);
    }
  }
  for (const Check& check : before.checks()) {
    if (!old.contains(check.id())) continue;
    const Verdict was = VerdictOf(check);
    all.push_back({Of::kCheck, was == Report::PASS ? Course::kWorse : Course::kChanged, check.id(), "",
                   WordOf(was), ""});
  }
  CompareVersions(before, after, all);
  return all;
}

void PrintDifferences(const std::vector<Difference>& found, const printing::Painter& paint,
                      std::ostream& out) {
  std::map<std::tuple<Course, Of, std::string>, std::vector<const Difference*>>
      kinds;  // worse first, checks before their values
  for (const Difference& each : found) kinds[{each.course, each.of, each.check}].push_back(&each);
  for (const auto& [kind, differences] : kinds) {
    const std::string word = WordOfCourse(std::get<Course>(kind));
    for (size_t i = 0; i < differences.size() && i < kMostOfOne; ++i) {
      const Difference& each = *differences[i];
      std::string text = each.check;
      if (!each.where.empty()) Append(text, ", ", each.where);
      text += ": " + (each.before.empty() ? "not there" : each.before) + " -> " +
              (each.after.empty() ? "not there" : each.after);
      std::string head = paint(word) + std::string(9 - word.size(), ' ');
      for (const std::string& line : Wrapped(printing::OneLine(text), kWidth - 9)) {
        out << head << line << '\n';
        head.assign(9, ' ');
      }
    }
    if (differences.size() > kMostOfOne) {
      out << fmt::format("         and {} more of {} that are {}\n", differences.size() - kMostOfOne,
                         printing::OneLine(std::get<std::string>(kind)), word);
    }
  }
  if (found.empty()) out << "no verdict and no version differs, and no value by more than 10 %\n";
}

bool IsWorse(const std::vector<Difference>& found) {
  return std::ranges::any_of(found, [](const Difference& each) {
    return each.course == Course::kWorse && (each.of == Of::kCheck || each.of == Of::kAttempt);
  });
}

}  // namespace rail::accept
