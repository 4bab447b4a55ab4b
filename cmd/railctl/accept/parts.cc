#include "cmd/railctl/accept/parts.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/base/text.h"
#include "lib/base/utf8.h"
#include "lib/printing/words.h"

namespace rail::accept {
namespace {

bool Begins(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

// The length in bytes of the first `most` characters.
size_t BytesOf(std::string_view text, size_t most) {
  size_t end = 0;
  for (size_t characters = 0; end < text.size(); ++end) {
    if (Begins(text[end]) && ++characters > most) break;
  }
  return end;
}

}  // namespace

Verdict Known(Verdict verdict) {
  return verdict == Report::PASS || verdict == Report::FAIL ? verdict : Report::COULD_NOT_MEASURE;
}

int RankOf(Verdict verdict) {
  return verdict == Report::FAIL ? 2 : verdict == Report::PASS ? 0 : 1;
}

std::string WordOf(Verdict verdict) {
  return printing::WordOf(Known(verdict));
}

std::string_view SymbolOf(Verdict verdict) {
  return verdict == Report::FAIL ? "✗" : verdict == Report::PASS ? "✓" : "?";
}

std::string Figure(double value, std::string_view unit) {
  return std::abs(value) < 1000 ? fmt::format("{:.4g} {}", value, unit)
                                : fmt::format("{:.0f} {}", value, unit);
}

std::string FigureOf(const Attempt& attempt) {
  return attempt.unit().empty() ? "" : Figure(attempt.value(), attempt.unit());
}

bool IsMeasured(const Attempt& attempt) {
  return !attempt.unit().empty() && RankOf(attempt.verdict()) != 1 && std::isfinite(attempt.value());
}

std::string PodsOf(const Attempt& attempt, std::string_view arrow) {
  return attempt.to().empty() ? attempt.from() : attempt.from() + std::string(arrow) + attempt.to();
}

std::string WhereOf(const Attempt& attempt, std::string_view arrow) {
  std::string where = attempt.rail();
  const std::string pods = PodsOf(attempt, arrow);
  if (!pods.empty()) Append(where, " ", pods);
  return where;
}

std::string Duration(double seconds) {
  if (!(seconds >= 0 && seconds < 1e9)) return "a time not known";
  if (seconds < 10) return fmt::format("{:.2g} s", seconds);
  const auto whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  return whole < 3600 ? fmt::format("{} min {} s", whole / 60, whole % 60)
                      : fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string StartedOf(const Report& report) {
  using google::protobuf::util::TimeUtil;
  const int64_t seconds = report.started().seconds();
  const bool known = seconds > 0 && seconds <= TimeUtil::kTimestampMaxSeconds;
  return known ? TimeUtil::ToString(TimeUtil::SecondsToTimestamp(seconds)) : "a time not known";
}

std::string Times(size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : WithoutControls(ValidUtf8(text), ' ')) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += c;
    }
  }
  for (const std::string_view forbidden : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {  // U+FFFE, U+FFFF
    for (size_t at = 0; (at = escaped.find(forbidden, at)) != std::string::npos;)
      escaped.replace(at, forbidden.size(), "\xEF\xBF\xBD");
  }
  return escaped;
}

std::vector<std::string> Wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  while (BytesOf(text, width) < text.size()) {
    const size_t most = BytesOf(text, width);
    const size_t space = text.substr(0, most + 1).rfind(' ');
    const bool at_space = space != std::string_view::npos && space > 0;
    lines.emplace_back(text.substr(0, at_space ? space : most));
    text.remove_prefix(at_space ? space + 1 : most);
  }
  lines.emplace_back(text);
  return lines;
}

}  // namespace rail::accept
