#include "cmd/railctl/accept/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace rail::accept {
namespace {

constexpr size_t kSmall = 16;  // columns up to which a cell has its figure

// "pod-2" before "pod-10".
struct ByNumbers {
  bool operator()(const std::string& a, const std::string& b) const {
    return strverscmp(a.c_str(), b.c_str()) < 0;
  }
};
using Names = std::set<std::string, ByNumbers>;
using Cells = std::map<std::pair<std::string_view, std::string_view>, std::vector<const Attempt*>>;

// How many bytes all names begin with, up to a "/", "-" or ".": what a heading leaves out.
size_t CommonLength(const Names& names) {
  size_t common = names.begin()->size();
  for (const std::string& name : names) {
    const auto differs = std::ranges::mismatch(*names.begin(), name).in1 - names.begin()->begin();
    common = std::min(common, static_cast<size_t>(differs));
  }
  if (names.size() == 1) return 0;
  const size_t end = names.begin()->substr(0, common).find_last_of("/-.");
  return end == std::string::npos ? 0 : end + 1;
}

class Matrices {
 public:
  Matrices(const Check& check, const std::map<const Attempt*, std::string>& links) : links_(links) {
    for (const Attempt& attempt : check.attempts()) {
      if (!HasCell(attempt)) continue;
      rails_[attempt.rail()][{attempt.from(), attempt.to()}].push_back(&attempt);
      from_.insert(attempt.from());
      to_.insert(attempt.to());
    }
  }

  std::string Html() {
    if (rails_.empty()) return "";
    Names all = from_;
    all.insert(to_.begin(), to_.end());
    common_ = CommonLength(all);
    std::string out = "<h3>From pod to pod</h3>\n";
    if (common_ > 0)
      out += fmt::format("<p class=soft>All names begin with {}</p>\n",
                         Escaped(all.begin()->substr(0, common_)));
    out += "<div class=rails>\n";
    for (const auto& [rail, cells] : rails_) AddRail(rail, cells, out);
    return out + "</div>\n";
  }

 private:
  std::string Short(const std::string& name) const { return Escaped(std::string_view(name).substr(common_)); }

  void AddRail(const std::string& rail, const Cells& cells, std::string& out) const {
    std::array<int, 3> counts = {};  // by rank
    for (const auto& [pods, attempts] : cells) {
      for (const Attempt* attempt : attempts) ++counts.at(static_cast<size_t>(RankOf(attempt->verdict())));
    }
    const bool passed = counts[1] + counts[2] == 0;
    const std::string name = rail.empty() ? "no rail" : Escaped(rail);
    out +=
        fmt::format("<details{}><summary>{} {}: {} failed, {} could not be measured, {} passed</summary>\n",
                    passed && to_.size() > kSmall ? "" : " open",
                    SymbolOf(counts[2] > 0 ? Report::FAIL
                             : passed      ? Report::PASS
                                           : Report::COULD_NOT_MEASURE),
                    name, counts[2], counts[1], counts[0]);
    out += fmt::format(
        "<div class=wide role=region tabindex=0 aria-label=\"{}, from pod to pod\"><table class=\"m{}\">"
        "<thead><tr><th scope=col>from, to →",
        name, to_.size() > kSmall ? " big" : "");
    for (const std::string& to : to_)
      out += fmt::format("<th scope=col title=\"{}\">{}", Escaped(to), Short(to));
    out += "<tbody>\n";
    for (const std::string& from : from_) {
      out += fmt::format("<tr><th scope=row title=\"{}\">{}", Escaped(from), Short(from));
      for (const std::string& to : to_) AddCell(from, to, cells, out);
      out += '\n';
    }
    out += "</table></div></details>\n";
  }

  void AddCell(const std::string& from, const std::string& to, const Cells& cells, std::string& out) const {
    const auto found = cells.find({from, to});
    if (found == cells.end()) {
      out += "<td class=n>–";
      return;
    }
    const Attempt& worst = **std::ranges::max_element(
        found->second, {}, [](const Attempt* attempt) { return RankOf(attempt->verdict()); });
    std::string title = Short(from) + "→" + Short(to);
    std::string figures;
    for (const Attempt* attempt : found->second) {
      if (IsMeasured(*attempt)) figures += (figures.empty() ? "" : ", ") + FigureOf(*attempt);
    }
    if (!figures.empty()) title += ": " + Escaped(figures);
    std::string text(SymbolOf(worst.verdict()));
    if (to_.size() <= kSmall && IsMeasured(worst)) text += " " + Escaped(FigureOf(worst));
    const std::array<const char*, 3> classes = {"", " class=u", " class=f"};
    out += fmt::format("<td{}", classes.at(static_cast<size_t>(RankOf(worst.verdict()))));
    const auto link = links_.find(&worst);
    if (link != links_.end()) {
      out += fmt::format("><a href=\"#{}\" title=\"{}\">{}</a>", link->second, title, text);
    } else {
      out += fmt::format(" title=\"{}\">{}", title, text);
    }
  }

  const std::map<const Attempt*, std::string>& links_;
  std::map<std::string, Cells, ByNumbers> rails_;
  Names from_;
  Names to_;
  size_t common_ = 0;
};

}  // namespace

bool HasCell(const Attempt& attempt) {
  return !attempt.from().empty() && !attempt.to().empty();
}

std::string MatricesOf(const Check& check, const std::map<const Attempt*, std::string>& links) {
  return Matrices(check, links).Html();
}

}  // namespace rail::accept
