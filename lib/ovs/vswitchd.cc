#include "lib/ovs/vswitchd.h"

#include <algorithm>
#include <charconv>

#include "lib/base/parse.h"

namespace rail::ovs {
namespace {

constexpr uint64_t kSlowDumpMs = 1000;
constexpr uint64_t kDefaultFlowLimit = 200000;

// The number right after `word`.
std::optional<uint64_t> NumberAfter(std::string_view line, std::string_view word) {
  const size_t at = line.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + word.size());
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

uint64_t FlowLimit(const ExternalIds& other_config) {
  const auto set = other_config.find("flow-limit");
  return set == other_config.end() ? kDefaultFlowLimit
                                   : NumberAfter(set->second, "").value_or(kDefaultFlowLimit);
}

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
    if (const auto dump = NumberAfter(line, "dump duration : ")) counts.dump_ms = *dump;
  }
  return datapaths;
}

Status RaiseFlowLimit(const AskVswitchd& ask, uint64_t limit, Deadline deadline) {
  RAIL_ASSIGN(const std::string shown, ask("upcall/show", {}, deadline));
  const auto datapaths = ParseUpcallShow(shown);
  const bool low = std::ranges::any_of(datapaths, [&](const auto& each) { return each.limit < limit; });
  const bool slow =
      std::ranges::any_of(datapaths, [](const auto& each) { return each.dump_ms >= kSlowDumpMs; });
  if (!low || slow) return {};
  RAIL_ASSIGN([[maybe_unused]] const std::string said,
              ask("upcall/set-flow-limit", {std::to_string(limit)}, deadline));
  return {};
}

}  // namespace rail::ovs
