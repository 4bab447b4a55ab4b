#include "cmd/raild/modes.h"

#include <fmt/format.h>

namespace rail::raild {
namespace {

const char* PhaseText(state::Phase phase) {
  switch (phase) {
    case state::Phase::kAdding: return "adding";
    case state::Phase::kReady: return "ready";
    case state::Phase::kDeleting: return "deleting";
  }
  return "?";
}

// The runtime gives no pod to some attachments; the container then says whose it is.
std::string Owner(const state::Attachment& a) {
  return a.pod_name.empty() ? "container " + a.key.container_id : a.pod_namespace + "/" + a.pod_name;
}

}  // namespace

Result<std::string> AttachmentsText(Result<std::unique_ptr<state::Store>> store) {
  if (!store && store.error().code == Code::kNotFound) return std::string();
  if (!store) return tl::make_unexpected(std::move(store).error());
  RAIL_ASSIGN(const auto attachments, (*store)->List());
  std::string text;
  for (const state::Attachment& a : attachments)
    text +=
        fmt::format("{} {} on {}, {}: {}\n", Owner(a), a.key.ifname, a.rail, a.device, PhaseText(a.phase));
  return text;
}

}  // namespace rail::raild
