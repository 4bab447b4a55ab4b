#include "lib/base/parse.h"

namespace rail {

std::vector<std::string_view> Split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + separator.size());
  }
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words = Split(line, " ");
  std::erase(words, "");
  return words;
}

}  // namespace rail
