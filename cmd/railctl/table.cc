#include "cmd/railctl/table.h"

#include <algorithm>
#include <utility>

#include "lib/base/utf8.h"
#include "lib/printing/color.h"

namespace rail::railctl {
namespace {

constexpr size_t kGap = 3;

bool Begins(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

// The number of characters in UTF-8 text: its bytes without the continuation bytes.
size_t Width(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(text, Begins));
}

// At most `most` characters, the last one a mark when something is missing.
std::string Cut(const std::string& text, size_t most) {
  if (Width(text) <= most) return text;
  size_t end = 0;
  for (size_t characters = 0; end < text.size(); ++end) {
    if (Begins(text[end]) && ++characters == most) break;
  }
  return text.substr(0, end) + "…";
}

bool IsOfStates(const std::string& header) {
  static const std::set<std::string> columns = {"STATE", "RULES", "BGP", "CHECK", "WHERE"};
  return columns.contains(header);
}

}  // namespace

Table::Table(std::vector<std::string> header, TableStyle style)
    : header_(std::move(header)), style_(std::move(style)), widths_(header_.size()) {
  for (size_t i = 0; i < header_.size(); ++i) {
    if (!style_.hidden.contains(header_[i])) shown_.push_back(i);
  }
  if (style_.headers) Add(header_);
}

void Table::Add(std::vector<std::string> row) {
  row.resize(widths_.size());
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i].empty()) row[i] = "-";
    row[i] = WithoutControls(row[i], ' ');
    widths_[i] = std::max(widths_[i], Width(row[i]));
  }
  rows_.push_back(std::move(row));
}

void Table::Reserve(size_t column, const std::string& text) {
  widths_[column] = std::max(widths_[column], Width(text));
}

std::string Table::Cell(size_t column, const std::string& text) const {
  const printing::Painter paint(style_.color);
  if (style_.alarming.contains(header_[column]) && text != header_[column] && text != "0" && text != "-")
    return paint.Red(text);
  return IsOfStates(header_[column]) ? paint(text) : text;
}

void Table::Print(std::ostream& out) {
  for (const std::vector<std::string>& row : std::exchange(rows_, {})) {
    std::string line;
    size_t used = 0;
    for (const size_t i : shown_) {
      if (i != shown_.back()) {
        line += Cell(i, row[i]);
        line.append(widths_[i] - Width(row[i]) + kGap, ' ');
        used += widths_[i] + kGap;
      } else if (style_.width > used) {
        line += Cell(i, Cut(row[i], style_.width - used));
      } else {
        line += Cell(i, row[i]);
      }
    }
    out << line << '\n';
  }
}

}  // namespace rail::railctl
