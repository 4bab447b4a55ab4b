#include "lib/inspect/datapath_counts.h"

#include "lib/inspect/text.h"

namespace rail::inspect {
namespace {

// The number after `word`, up to a bracket or the line's end.
std::optional<uint64_t> NumberAfter(std::string_view line, std::string_view word) {
  const size_t at = line.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + word.size());
  return Number<uint64_t>(line.substr(0, line.find(')')));
}

}  // namespace

std::vector<DatapathCounts> ParseUpcallShow(std::string_view text) {
  std::vector<DatapathCounts> datapaths;
  for (const std::string_view line : Split(text, "\n")) {
    if (!line.empty() && line.front() != ' ' && line.ends_with(':')) {
      datapaths.push_back({.name = std::string(line.substr(0, line.size() - 1))});
      continue;
    }
    if (datapaths.empty()) continue;
    DatapathCounts& counts = datapaths.back();
    // "  flows         : (current 72) (avg 56) (max 72) (limit 14000)"
    const auto flows = NumberAfter(line, "(current ");
    const auto limit = NumberAfter(line, "(limit ");
    if (flows && limit) {
      counts.flows = *flows;
      counts.limit = *limit;
    }
    if (const auto offloaded = NumberAfter(line, "offloaded flows : ")) counts.offloaded = offloaded;
  }
  return datapaths;
}

}  // namespace rail::inspect
