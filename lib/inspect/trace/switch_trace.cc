#include "lib/inspect/trace/switch_trace.h"

#include <algorithm>
#include <optional>

#include "lib/base/parse.h"
#include "lib/inspect/text.h"

namespace rail::inspect {
namespace {

constexpr uint16_t kDefaultPriority = 32768;  // ofproto/trace does not print this priority

// " 0. ip,in_port=2, priority 100, cookie 0x5241494c02000001"; nullopt: another kind of line.
std::optional<SwitchStep> ParseStep(std::string_view line) {
  const size_t dot = line.find(". ");
  if (dot == std::string_view::npos) return std::nullopt;
  const auto table = Number<uint8_t>(line.substr(0, dot));
  if (!table) return std::nullopt;
  SwitchStep step{.table = *table, .priority = kDefaultPriority};
  std::string_view rest = line.substr(dot + 2);
  if (rest.starts_with("No match")) {
    step.priority = 0;
    return step;
  }
  step.matched = true;
  for (const std::string_view part : Split(rest, ", ")) {
    if (part.starts_with("priority ")) {
      step.priority = Number<uint16_t>(part.substr(9)).value_or(kDefaultPriority);
    } else if (part.starts_with("cookie 0x")) {
      step.cookie = Number<uint64_t>(part.substr(9), 16).value_or(0);
    } else {
      step.match += (step.match.empty() ? "" : ", ") + std::string(part);
    }
  }
  return step;
}

size_t Indentation(std::string_view raw) {
  return std::min(raw.find_first_not_of(' '), raw.size());
}

}  // namespace

// A table that comes back to the rule which asked it is indented, with its actions; the further actions of that rule follow.
Result<SwitchTrace> ParseSwitchTrace(std::string_view text) {
  SwitchTrace trace;
  std::vector<size_t> indentations;  // of the steps
  for (const std::string_view raw : Split(text, "\n")) {
    const std::string_view line = Trim(raw);
    if (line.starts_with("Megaflow: ")) {
      trace.megaflow = line.substr(10);
    } else if (line.starts_with("Datapath actions: ")) {
      trace.datapath_actions = line.substr(18);
    } else if (auto step = ParseStep(line)) {
      trace.steps.push_back(std::move(*step));
      indentations.push_back(Indentation(raw));
    } else if (raw.starts_with("    ") && !line.empty() && !line.starts_with("-> ") &&
               trace.megaflow.empty()) {
      const auto its =
          std::ranges::find_if(indentations.rbegin(), indentations.rend(),
                               [&](size_t indentation) { return indentation < Indentation(raw); });
      if (its == indentations.rend()) continue;
      trace.steps[static_cast<size_t>(indentations.rend() - its) - 1].actions.emplace_back(line);
    }
  }
  if (trace.datapath_actions.empty() || trace.steps.empty()) {
    return Fail(Code::kInternal,
                "read the answer of ofproto/trace: it says neither rules nor datapath actions");
  }
  return trace;
}

}  // namespace rail::inspect
