// Aligned columns for people: `-` for what is empty, three spaces between columns, as kubectl prints.
//
// Use:      Table table({"NAME", "INDEX"});  table.Add({"rail0", "0"});  table.Print(out);
//           ... later rows ...               table.Add({"rail1", "1"});  table.Print(out);   // the same
//           columns go on
// Threads:  one at a time
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

namespace rail::railctl {

class Table {
 public:
  explicit Table(std::vector<std::string> header);

  // As many cells as the header has. Control characters become spaces: a cell is one line, and moves no
  // cursor.
  void Add(std::vector<std::string> row);

  // Makes room for `text` in a column before there is such a cell.
  void Reserve(size_t column, const std::string& text);

  // Writes the header (the first time) and the rows that were added since. Columns only grow.
  void Print(std::ostream& out);

 private:
  std::vector<size_t> widths_;                  // characters
  std::vector<std::vector<std::string>> rows_;  // not written yet
};

}  // namespace rail::railctl
