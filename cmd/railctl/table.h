// Aligned columns for people, as kubectl prints them: `-` in an empty cell, three spaces between columns.
//
// Use:      Table table({"NAME", "INDEX"});  table.Add({"rail0", "0"});  table.Print(out);
//           ... later rows ...               table.Add({"rail1", "1"});  table.Print(out);   // in the same columns
// Threads:  one at a time
#pragma once

#include <cstddef>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace rail::railctl {

// How wide the lines of a table are that people see.
constexpr size_t kWidth = 120;

struct TableStyle {
  bool headers = true;
  bool color = false;              // of cells in columns of states (STATE, RULES, BGP, CHECK, WHERE)
  std::set<std::string> hidden;    // columns that are not shown
  std::set<std::string> alarming;  // columns whose cells are red unless they are 0 or empty
  size_t width = 0;                // characters; the last column is cut so that a line fits. 0: no limit
};

class Table {
 public:
  explicit Table(std::vector<std::string> header, TableStyle style = {});

  // Adds a row with as many cells as the header has. Control characters become spaces, so that a cell is one line and does
  // not move the cursor.
  void Add(std::vector<std::string> row);

  // Makes a column wide enough for `text` before there is a cell with it.
  void Reserve(size_t column, const std::string& text);

  // Writes the header (the first time) and the rows that were added since. Columns only grow.
  void Print(std::ostream& out);

 private:
  std::string Cell(size_t column, const std::string& text) const;

  const std::vector<std::string> header_;
  const TableStyle style_;
  std::vector<size_t> shown_;                   // columns
  std::vector<size_t> widths_;                  // characters
  std::vector<std::vector<std::string>> rows_;  // not written yet
};

}  // namespace rail::railctl
