#include "lib/fabric/causes.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "lib/base/text.h"
#include "lib/fabric/text.h"

namespace rail::fabric {
namespace {

// `next_look_ms`: as Causes::NextLookMs.
std::vector<Cause> Judge(const Look& look, std::optional<int64_t>& next_look_ms) {
  std::vector<Cause> found;
  Taken taken(look.cells.size(), -1);
  JudgeLinks(look, found, taken);
  JudgeRails(look, found, taken);
  JudgeNodes(look, found, taken);
  std::set<std::string> deaf;
  JudgeSpines(look, found, deaf);
  if (const int64_t next = JudgeLearning(look, deaf, found); next != 0) next_look_ms = next;
  JudgeCables(look, found);
  JudgeOwners(look, found);
  JudgeTenants(look, found);
  JudgeAway(look, found);
  return found;
}

bool IsWorse(const Cause& a, const Cause& b) {
  if (a.kind->severity != b.kind->severity) return a.kind->severity > b.kind->severity;
  if (a.nodes.size() != b.nodes.size()) return a.nodes.size() > b.nodes.size();
  if (a.kind != b.kind) return a.kind < b.kind;
  return a.subject != b.subject ? IsBefore(a.subject, b.subject) : a.what < b.what;
}

std::string InShort(const Cause& cause) {
  std::string text;
  for (const auto& [id, count] : cause.follows) {
    const bool is_pods = id == "attachments";
    Append(text, ", ",
           is_pods ? Some(count, "attachment", "attachments") : Some(count, KindOf(id).one, KindOf(id).many));
  }
  return text;
}

v1::FleetCause ToMessage(const Cause& cause) {
  constexpr size_t kNodesShown = 100;
  v1::FleetCause message;
  message.set_severity(cause.kind->severity);
  message.set_id(cause.kind->id);
  message.set_subject(cause.subject);
  if (cause.since_ms != 0) *message.mutable_since() = Stamp(cause.since_ms);
  message.set_what(cause.what);
  message.set_why(cause.kind->why);
  message.set_fix(cause.kind->fix);
  for (const auto& [id, count] : cause.follows) {
    v1::FleetConsequence& follows = *message.add_follows();
    follows.set_id(id);
    follows.set_count(count);
  }
  message.set_follows_in_short(InShort(cause));
  for (size_t i = 0; i < std::min(cause.nodes.size(), kNodesShown); ++i) message.add_nodes(cause.nodes[i]);
  message.set_nodes_total(static_cast<uint32_t>(cause.nodes.size()));
  for (const std::string& rail : cause.rails) message.add_rails(rail);
  return message;
}

}  // namespace

bool Causes::Update(const Fleet& fleet, const Grid& grid, int64_t now_ms) {
  std::map<Key, int64_t> seen;
  std::vector<Cause> list;
  next_look_ms_.reset();
  const Look look(fleet, grid, now_ms);
  for (Cause& cause : Judge(look, next_look_ms_)) {
    const Key key{cause.kind->id, cause.subject};
    const auto before = seen_.find(key);
    const int64_t since = before == seen_.end() ? now_ms : before->second;
    seen[key] = since;
    const int64_t due = since + cause.kind->settle_ms;
    if (due > now_ms) {
      next_look_ms_ = std::min(next_look_ms_.value_or(due), due);
      continue;
    }
    if (cause.kind->settle_ms > 0 && cause.since_ms == 0) cause.since_ms = since;
    list.push_back(std::move(cause));
  }
  seen_ = std::move(seen);
  std::ranges::sort(list, IsWorse);
  if (list == list_) return false;
  list_ = std::move(list);
  return true;
}

v1::DiagnoseFleetResponse Diagnose(const Causes& causes, const Fleet& fleet, const Grid& grid,
                                   const v1::DiagnoseFleetRequest& request) {
  v1::DiagnoseFleetResponse response;
  for (const Cause& cause : causes.list()) {
    if (request.node().empty() || std::ranges::find(cause.nodes, request.node()) != cause.nodes.end())
      *response.add_causes() = ToMessage(cause);
  }
  response.set_checks(static_cast<uint32_t>(Kinds().size()));
  *response.mutable_totals() = Totals(fleet, grid);
  return response;
}

}  // namespace rail::fabric
