#include "cmd/railctl/table.h"

#include <algorithm>
#include <utility>

namespace rail::railctl {
namespace {

constexpr size_t kGap = 3;

// The number of characters in UTF-8 text: its bytes without the continuation bytes.
size_t Width(const std::string& text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

Table::Table(std::vector<std::string> header) : widths_(header.size()) {
  Add(std::move(header));
}

void Table::Add(std::vector<std::string> row) {
  row.resize(widths_.size());
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i].empty()) row[i] = "-";
    std::ranges::replace_if(
        row[i], [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
    widths_[i] = std::max(widths_[i], Width(row[i]));
  }
  rows_.push_back(std::move(row));
}

void Table::Reserve(size_t column, const std::string& text) {
  widths_[column] = std::max(widths_[column], Width(text));
}

void Table::Print(std::ostream& out) {
  for (const std::vector<std::string>& row : std::exchange(rows_, {})) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths_[i] - Width(row[i]) + kGap, ' ');
    }
    out << line << '\n';
  }
}

}  // namespace rail::railctl
