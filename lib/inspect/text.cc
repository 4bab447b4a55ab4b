#include "lib/inspect/text.h"

namespace rail::inspect {

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> SplitOutside(std::string_view text) {
  std::vector<std::string_view> pieces;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    pieces.push_back(Trim(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return pieces;
}

}  // namespace rail::inspect
