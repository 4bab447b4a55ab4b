#include "lib/inspect/inside.h"

#include <algorithm>

#include "lib/base/text.h"
#include "lib/podnet/commands.h"

namespace rail::inspect {

using engine::AttachmentView;
using podnet::Deviation;
using state::Attachment;

namespace {

// frr-provider alone has not made the interface, and does not know what is right in it.
bool IsToBeLookedInto(const AttachmentView& shown) {
  const Attachment& a = shown.attachment;
  return a.phase == state::Phase::kReady && !shown.device_lost && shown.namespace_unseen.empty() &&
         !(a.adopted && a.representor.empty());
}

}  // namespace

Result<std::vector<Deviation>> LookInside(engine::Connections& connections, const config::Rail& rail,
                                          const Attachment& attachment,
                                          const std::vector<state::Step>& steps) {
  const std::optional<netns::Netns> pod = engine::PodNamespace(attachment);
  if (!pod) return std::vector<Deviation>();
  podnet::Plan plan = engine::PlanOf(rail, attachment);
  RAIL_ASSIGN(plan.routes, engine::RecordedRoutes(steps));
  RAIL_ASSIGN_AS(std::vector<Deviation> found, connections.Pods().Verify(*pod, plan), "look into the pod");
  return found;
}

// Only the CNI verb CHECK gets the network's configuration, so this does not compare the device's settings with it.
Result<std::vector<Deviation>> LookAtDevice(engine::Connections& connections, const Attachment& attachment,
                                            const std::vector<state::Step>& steps) {
  const auto step = std::ranges::find(steps, engine::step::kDevice, &state::Step::kind);
  const std::optional<netns::Netns> pod = engine::PodNamespace(attachment);
  if (step == steps.end() || !pod) return std::vector<Deviation>();
  RAIL_ASSIGN(const device::Saved saved, device::Saved::FromJson(step->detail));
  RAIL_ASSIGN_AS(device::Backend * devices, connections.Devices(), "look at its device");
  RAIL_ASSIGN_AS(const std::vector<std::string> sentences, devices->Verify(saved, std::nullopt, *pod),
                 "look at its device");
  std::vector<Deviation> found;
  for (const std::string& what : sentences) found.push_back({what, "", /*cuts=*/false});
  return found;
}

void LookIntoPods(NodeFacts& facts, const engine::Deps& deps, const std::string& libraries, Deadline until) {
  engine::Connections connections(deps.openers(facts.config), until);
  const auto store = deps.open_store();
  std::vector<const AttachmentView*> pods;
  for (const AttachmentView& shown : facts.view.attachments) {
    if (IsToBeLookedInto(shown)) pods.push_back(&shown);
  }
  if (pods.empty()) return;
  // Where the time is not enough for all, each doctor begins with another one.
  const auto first = static_cast<size_t>(facts.now_ms) % pods.size();
  std::ranges::rotate(pods, pods.begin() + static_cast<std::ptrdiff_t>(first));
  for (const AttachmentView* shown : pods) {
    const Attachment& attachment = shown->attachment;
    const config::Rail* rail = facts.config.FindRail(attachment.rail);
    if (rail == nullptr) continue;
    if (Clock::now() >= until) {
      ++facts.pods.not_looked;
      continue;
    }
    std::vector<state::Step> steps;  // without the record, what it alone knows is not compared
    if (store) steps = (*store)->Steps(attachment.id).value_or(steps);
    const auto inside = LookInside(connections, *rail, attachment, steps);
    const auto device = LookAtDevice(connections, attachment, steps);
    for (const auto& found : {inside, device}) {
      if (!found) {
        if (!facts.pods.error) facts.pods.error = found.error();
      } else if (!found->empty()) {
        std::vector<Deviation>& all = facts.pods.differ[attachment.id];
        all.insert(all.end(), found->begin(), found->end());
      }
    }
    auto gids = LookAtGids(libraries, *rail, attachment);
    if (!gids) {
      if (!facts.pods.error) facts.pods.error = gids.error();
    } else if (!gids->empty()) {
      facts.pods.moved_gids[attachment.id] = std::move(*gids);
    }
    ++(inside && device && gids ? facts.pods.looked : facts.pods.not_looked);
  }
}

std::string CommandFor(const Attachment& attachment, const std::vector<Deviation>& deviations) {
  if (!podnet::IsPlainWord(attachment.netns_path)) return {};
  std::vector<std::string> commands;
  for (const Deviation& each : deviations) {
    if (!each.command.empty()) commands.push_back(each.command);
  }
  if (commands.empty()) return {};
  std::string all = Join(commands, " && ");
  if (commands.size() > 1) all = "sh -c '" + all + "'";
  return "`nsenter --net=" + attachment.netns_path + " " + all + "`";
}

}  // namespace rail::inspect
