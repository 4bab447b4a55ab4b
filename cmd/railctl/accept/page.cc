#include "cmd/railctl/accept/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cmd/railctl/accept/matrix.h"
#include "cmd/railctl/accept/page_style.h"
#include "cmd/railctl/accept/report.h"
#include "lib/base/text.h"

namespace rail::accept {
namespace {

constexpr size_t kMostEvidence = 2'000'000;  // bytes, of attempts that did not pass
constexpr int kFewPassed = 40;               // attempts of a check

std::string Badge(Verdict verdict) {
  const std::array<char, 3> classes = {'p', 'u', 'f'};  // by rank
  return fmt::format("<span class=\"v {}\">{} {}</span>", classes.at(static_cast<size_t>(RankOf(verdict))),
                     SymbolOf(verdict), WordOf(verdict));
}

std::string Field(std::string_view name, const std::string& text) {
  return text.empty() ? "" : fmt::format("<dt>{}<dd>{}\n", name, Escaped(text));
}

std::string HeadOf(const Attempt& attempt) {
  std::string head = Escaped(WhereOf(attempt, " → "));
  if (!attempt.unit().empty()) Append(head, ": ", Escaped(FigureOf(attempt)));
  return Badge(attempt.verdict()) + " " + head;
}

std::string EvidenceOf(const Attempt& attempt, const std::string& id) {
  return fmt::format("<dl{}>{}{}{}</dl>\n", id.empty() ? "" : " id=" + id, Field("did", attempt.did()),
                     Field("control", attempt.control()), Field("seen", attempt.seen()));
}

class Page {
 public:
  explicit Page(const Report& report) : report_(report), checks_(WorstFirst(report)) {}

  std::string Html() {
    AddHead();
    AddSummary();
    AddContents();
    for (size_t i = 0; i < checks_.size(); ++i) AddCheck(*checks_[i], i);
    AddNodes();
    return out_ + "</main>\n</body>\n</html>\n";
  }

 private:
  template <class... Values>
  void Add(fmt::format_string<Values...> text, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Values>(values)...);
  }

  Verdict Whole() const {
    const int code = ExitCodeOf(report_);
    return code == 0 ? Report::PASS : code == 1 ? Report::FAIL : Report::COULD_NOT_MEASURE;
  }

  void AddHead() {
    Add("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" "
        "content=\"no-referrer\">\n"
        "<title>{} {}: railctl accept, {}</title>\n<style>{}</style>\n</head>\n<body>\n",
        SymbolOf(Whole()), MeaningOf(report_), StartedOf(report_), kStyle);
  }

  void AddSummary() {
    Add("<header>\n<h1>{} railctl accept: {}</h1>\n<dl>\n", Badge(Whole()), MeaningOf(report_));
    out_ += Field("checks", CountsOf(report_)) + Field("begun", StartedOf(report_)) +
            Field("took", Duration(report_.seconds())) +
            Field("nodes", std::to_string(report_.nodes_size())) + Field("railctl", report_.version());
    std::map<std::string, std::map<std::string, size_t>> versions;  // by part: on how many nodes each
    for (const Report::Node& node : report_.nodes()) {
      for (const auto& [part, version] : node.versions()) ++versions[part][version];
    }
    for (const auto& [part, nodes] : versions) {
      out_ += Field(Escaped(part), Join(nodes, ", ", [](const auto& each) {
                      return fmt::format("{} on {}", each.first, Times(each.second, "node"));
                    }));
    }
    Add("</dl>\n<p class=soft>✗ failed; ? could not be measured, neither shown nor refuted; ✓ passed; – not "
        "attempted. "
        "A cell that did not pass leads to its evidence.</p>\n</header>\n<main>\n");
  }

  void AddContents() {
    Add("<h2>Checks</h2>\n<div class=wide><table>\n<thead><tr><th scope=col>Verdict<th scope=col>Check<th "
        "scope=col>Group"
        "<th scope=col>Why<th scope=col>Took\n<tbody>\n");
    for (size_t i = 0; i < checks_.size(); ++i) {
      const Check& check = *checks_[i];
      Add("<tr><td>{}<th scope=row><a href=\"#c{}\">{}</a><td>{}<td>{}<td>{}\n", Badge(VerdictOf(check)), i,
          Escaped(check.id()), Escaped(check.group()), Escaped(check.why()), Duration(check.seconds()));
    }
    Add("</table></div>\n");
  }

  void AddCheck(const Check& check, size_t index) {
    const std::array<char, 3> classes = {'P', 'U', 'F'};  // by rank
    Add("<section id=c{0} class={1} aria-labelledby=h{0}>\n<h2 id=h{0}>{2} {3}</h2>\n<p>{4}</p>\n", index,
        classes.at(static_cast<size_t>(RankOf(VerdictOf(check)))), Badge(VerdictOf(check)),
        Escaped(check.id()), Escaped(check.title()));
    if (!check.why().empty()) Add("<p><strong>{}</strong></p>\n", Escaped(check.why()));
    if (check.requirements_size() > 0)
      Add("<p class=soft>Answers {}</p>\n", Escaped(Join(check.requirements(), ", ")));
    if (check.attempts().empty()) Add("<p>No attempt was made.</p>\n");
    std::map<const Attempt*, std::string> links;
    const std::string evidence = NotPassed(check, index, links) + Passed(check);
    AddFigures(check);
    out_ += MatricesOf(check, links);
    if (!evidence.empty()) Add("<h3>Evidence</h3>\n{}", evidence);
    Add("</section>\n");
  }

  // The lowest, middle and highest value of each rail and unit, with the pods of the two ends.
  void AddFigures(const Check& check) {
    std::map<std::pair<std::string, std::string>, std::vector<const Attempt*>> rails;
    for (const Attempt& attempt : check.attempts()) {
      if (IsMeasured(attempt)) rails[{attempt.rail(), attempt.unit()}].push_back(&attempt);
    }
    if (rails.empty()) return;
    Add("<h3>Figures</h3>\n<div class=wide><table>\n<thead><tr><th scope=col>Rail<th scope=col>Attempts<th "
        "scope=col>Lowest"
        "<th scope=col>Median<th scope=col>Highest\n<tbody>\n");
    for (const auto& [rail, attempts] : rails) {
      const auto [lowest, highest] =
          std::ranges::minmax_element(attempts, {}, [](const Attempt* a) { return a->value(); });
      std::vector<double> values;
      for (const Attempt* attempt : attempts) values.push_back(attempt->value());
      const auto end = [](const Attempt& attempt) {
        return fmt::format("{} <span class=soft>{}</span>", Escaped(FigureOf(attempt)),
                           Escaped(PodsOf(attempt, " → ")));
      };
      Add("<tr><th scope=row>{}<td>{}<td>{}<td>{}<td>{}\n", rail.first.empty() ? "–" : Escaped(rail.first),
          attempts.size(), end(**lowest), Escaped(Figure(Median(values), rail.second)), end(**highest));
    }
    Add("</table></div>\n");
  }

  std::string NotPassed(const Check& check, size_t index, std::map<const Attempt*, std::string>& links) {
    std::string all;
    size_t left = 0;
    for (const int rank : {2, 1}) {
      for (const Attempt& attempt : check.attempts()) {
        if (RankOf(attempt.verdict()) != rank) continue;
        const std::string id = fmt::format("e{}-{}", index, links.size());
        const std::string one =
            fmt::format("<details{}><summary>{}</summary>{}</details>\n", links.size() < 3 ? " open" : "",
                        HeadOf(attempt), EvidenceOf(attempt, id));
        if (evidence_ + one.size() > kMostEvidence) {
          ++left;
          continue;
        }
        evidence_ += one.size();
        all += one;
        links[&attempt] = id;
      }
    }
    if (left > 0)
      all +=
          fmt::format("<p>The evidence of {} that did not pass is not on this page; the JSON has it.</p>\n",
                      Times(left, "more attempt"));
    return all;
  }

  static std::string Passed(const Check& check) {
    const auto passed = std::ranges::count(check.attempts(), Report::PASS, &Attempt::verdict);
    if (passed == 0) return "";
    std::set<std::string> rails;
    std::string shown;
    for (const Attempt& attempt : check.attempts()) {
      if (attempt.verdict() != Report::PASS) continue;
      if (rails.insert(attempt.rail()).second || passed <= kFewPassed)
        shown += HeadOf(attempt) + EvidenceOf(attempt, "");
    }
    return fmt::format("<details><summary>✓ {} passed{}</summary><div>\n{}</div></details>\n",
                       Times(static_cast<size_t>(passed), "attempt"),
                       passed <= kFewPassed ? "" : "; the evidence of the first of each rail", shown);
  }

  void AddNodes() {
    if (report_.nodes().empty()) return;
    Add("<h2>Nodes</h2>\n<details><summary>{} with leaves and versions</summary><div class=wide><table>\n"
        "<thead><tr><th scope=col>Node<th scope=col>Leaves by rail<th scope=col>Versions\n<tbody>\n",
        Times(static_cast<size_t>(report_.nodes_size()), "node"));
    for (const Report::Node& node : report_.nodes()) {
      const std::map<std::string, std::string> versions(node.versions().begin(), node.versions().end());
      Add("<tr><th scope=row>{}<td>{}<td>{}\n", Escaped(node.name()),
          Escaped(Join(node.leaves(), ", ",
                       [](const std::string& leaf) { return leaf.empty() ? "not heard" : leaf; })),
          Escaped(Join(versions, ", ", [](const auto& each) { return each.first + " " + each.second; })));
    }
    Add("</table></div></details>\n");
  }

  const Report& report_;
  const std::vector<const Check*> checks_;
  std::string out_;
  size_t evidence_ = 0;  // bytes
};

}  // namespace

std::string AsPage(const Report& report) {
  return Page(report).Html();
}

}  // namespace rail::accept
