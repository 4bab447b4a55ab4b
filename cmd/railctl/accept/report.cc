#include "cmd/railctl/accept/report.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"
#include "lib/base/utf8.h"
#include "lib/printing/findings.h"

namespace rail::accept {
namespace {

constexpr size_t kWidth = 120;
constexpr size_t kLongestId = 40;  // a longer one has a line of its own
constexpr int kEvidence = 3;       // attempts of a check
constexpr const char* kMoreText = "the JSON has all of them";

Verdict Worse(Verdict a, Verdict b) {
  return RankOf(a) >= RankOf(b) ? Known(a) : Known(b);
}

class Printer {
 public:
  Printer(const Report& report, const printing::Painter& paint, std::ostream& out)
      : paint_(paint), out_(out), checks_(WorstFirst(report)) {
    for (const Check* check : checks_) {
      verdict_width_ = std::max(verdict_width_, WordOf(VerdictOf(*check)).size());
      if (check->id().size() <= kLongestId) id_width_ = std::max(id_width_, check->id().size());
    }
  }

  // The groups in the order of the worst that each has.
  void Print() {
    std::vector<std::string> done;
    for (const Check* first : checks_) {
      if (std::ranges::find(done, first->group()) != done.end()) continue;
      done.push_back(first->group());
      out_ << '\n';
      Lines("", first->group().empty() ? "other" : first->group(), 0);
      for (const Check* check : checks_) {
        if (check->group() == first->group()) PrintCheck(*check);
      }
    }
  }

 private:
  // `text` after `head`, which has `width` columns; further lines begin below the text.
  void Lines(const std::string& head, const std::string& text, size_t width) {
    std::string before = head;
    for (const std::string& line : Wrapped(printing::OneLine(text), kWidth - width)) {
      out_ << before << line << '\n';
      before.assign(width, ' ');
    }
  }

  void PrintCheck(const Check& check) {
    const std::string word = WordOf(VerdictOf(check));
    std::string head = "  " + paint_(word) + std::string(verdict_width_ - word.size() + 3, ' ');
    const size_t column = 2 + verdict_width_ + 3;
    if (check.id().size() > kLongestId) {
      Lines(head, check.id(), column);
      head = std::string(column + id_width_ + 3, ' ');
    } else {
      head += printing::OneLine(check.id()) + std::string(id_width_ - check.id().size() + 3, ' ');
    }
    Lines(head, check.why().empty() ? check.title() : check.why(), column + id_width_ + 3);
    PrintAttempts(check);
  }

  // Of those that did not pass.
  void PrintAttempts(const Check& check) {
    int left = 0;
    int shown = 0;
    for (const int rank : {2, 1}) {
      for (const Attempt& attempt : check.attempts()) {
        if (RankOf(attempt.verdict()) != rank) continue;
        ++(shown < kEvidence ? shown : left);
        if (left == 0) PrintAttempt(attempt);
      }
    }
    if (left > 0)
      out_ << "      and " << Times(static_cast<size_t>(left), "more attempt") << "; " << kMoreText << '\n';
    if (check.attempts().empty()) out_ << "      no attempt was made\n";
  }

  void PrintAttempt(const Attempt& attempt) {
    const std::string where = WhereOf(attempt);
    Lines("      ", WordOf(attempt.verdict()) + (where.empty() ? "" : " " + where), 6);
    const std::vector<std::pair<std::string, std::string>> fields = {{"did", attempt.did()},
                                                                     {"control", attempt.control()},
                                                                     {"seen", attempt.seen()},
                                                                     {"figure", FigureOf(attempt)}};
    for (const auto& [name, text] : fields) {
      if (!text.empty()) Lines(fmt::format("        {:<9}", name), text, 17);
    }
  }

  const printing::Painter& paint_;
  std::ostream& out_;
  std::vector<const Check*> checks_;
  size_t verdict_width_ = 0;
  size_t id_width_ = 0;
};

std::string ToJson(const Report& report, bool indented) {
  // MessageToJsonString would write a map in an order that differs from run to run.
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    if (!report.SerializeToCodedStream(&coded)) return "";
  }
  namespace util = google::protobuf::util;
  const std::unique_ptr<util::TypeResolver> types(
      util::NewTypeResolverForDescriptorPool("rail", google::protobuf::DescriptorPool::generated_pool()));
  util::JsonPrintOptions options;
  options.add_whitespace = indented;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto status = util::BinaryToJsonString(types.get(), "rail/" + report.GetDescriptor()->full_name(),
                                               bytes, &text, options);
  return status.ok() ? text : "";
}

}  // namespace

Verdict Worst(const Check& check) {
  if (check.attempts().empty()) return Report::COULD_NOT_MEASURE;
  Verdict worst = Report::PASS;
  for (const Attempt& attempt : check.attempts()) worst = Worse(worst, attempt.verdict());
  return worst;
}

Verdict VerdictOf(const Check& check) {
  const Verdict worst = Worst(check);
  return check.verdict() == Report::VERDICT_UNSPECIFIED ? worst : Worse(worst, check.verdict());
}

Counts Count(const Report& report) {
  Counts counts;
  for (const Check& check : report.checks()) {
    const int rank = RankOf(VerdictOf(check));
    ++(rank == 2 ? counts.failed : rank == 1 ? counts.unmeasured : counts.passed);
  }
  return counts;
}

int ExitCodeOf(const Report& report) {
  const Counts counts = Count(report);
  if (counts.failed > 0) return 1;
  return counts.unmeasured > 0 || counts.passed == 0 ? 3 : 0;
}

std::string CountsOf(const Report& report) {
  const Counts counts = Count(report);
  return fmt::format("{} failed, {} could not be measured, {} passed", counts.failed, counts.unmeasured,
                     counts.passed);
}

std::string MeaningOf(const Report& report) {
  switch (ExitCodeOf(report)) {
    case 0: return "all passed";
    case 1: return "something failed";
    default:
      return report.checks().empty() ? "nothing was checked"
                                     : "something could not be measured, nothing failed";
  }
}

std::vector<const Check*> WorstFirst(const Report& report) {
  std::vector<const Check*> checks;
  for (const Check& check : report.checks()) checks.push_back(&check);
  std::ranges::stable_sort(checks, std::greater(),
                           [](const Check* check) { return RankOf(VerdictOf(*check)); });
  return checks;
}

std::string AsJson(const Report& report) {
  return ToJson(report, true);
}

std::string AsJsonLine(const Report& report) {
  return ToJson(report, false);
}

Result<Report> ParseReport(const std::string& text) {
  RAIL_ASSIGN_AS(const nlohmann::json document, ParseJson(text, {.max_bytes = size_t{256} << 20}),
                 "read the report");
  const auto schema = document.is_object() ? document.find("schema") : document.end();
  if (schema == document.end() || !schema->is_number_unsigned() || *schema == 0U)
    return Fail(
        Code::kInvalid,
        "read the report: it has no number `schema`, so it is none that `railctl accept` has written");
  if (*schema > kSchema) {
    const auto version = document.find("version");
    const bool named = version != document.end() && version->is_string();
    return Fail(
        Code::kUnsupported,
        fmt::format(
            "read the report: it has schema {}, and this railctl knows schemas up to {}; read it with the "
            "railctl that wrote it{}, or a newer one",
            schema->dump(), kSchema,
            named ? " (" + printing::OneLine(version->get<std::string>()) + ")" : ""));
  }
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  Report report;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &report, options);
  if (!status.ok())
    return Fail(Code::kInvalid, "read the report: " + printing::OneLine(std::string(status.message())) +
                                    "; the fields are those of accept_report.proto");
  return report;
}

void PrintReport(const Report& report, const printing::Painter& paint, std::ostream& out) {
  const auto line = [&](const std::string& text) {
    for (const std::string& each : Wrapped(printing::OneLine(text), kWidth)) out << each << '\n';
  };
  line(fmt::format("railctl accept {}, {}, {}", report.version(), StartedOf(report),
                   Times(static_cast<size_t>(report.nodes_size()), "node")));
  Printer(report, paint, out).Print();
  out << '\n';
  line(fmt::format("{} in {}; exit status {}: {}", CountsOf(report), Duration(report.seconds()),
                   ExitCodeOf(report), MeaningOf(report)));
}

}  // namespace rail::accept
