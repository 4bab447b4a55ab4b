#include "cmd/raild/workers/rail_pools.h"

#include <algorithm>
#include <utility>

namespace rail::raild {
namespace {

using engine::Part;

bool IsLookedAt(const engine::NodeView& view, const engine::PartId& part) {
  return std::ranges::find(view.health, part, &engine::Health::part) != view.health.end();
}

bool IsWhole(const engine::NodeView& view) {
  const auto is_looked_at = [&](const engine::RailView& rail) {
    return IsLookedAt(view, {Part::kRail, rail.rail.name});
  };
  return !view.rails.empty() && std::ranges::all_of(view.rails, is_looked_at) &&
         IsLookedAt(view, Part::kBgpSessions);
}

}  // namespace

RailPools::RailPools(const config::NodeConfig& config, const engine::ViewPublisher& views, See see)
    : config_(config), views_(views), see_(std::move(see)) {
  for (const config::Rail& rail : config.rails)
    pools_.emplace(rail.index, kubelet::DevicePool(std::chrono::seconds(config.kubelet.grace_s)));
}

RailPools::Looked RailPools::Look(Deadline now) {
  const auto view = views_.Current();
  has_looked_ = has_looked_ || IsWhole(*view);
  if (!has_looked_) return {};
  auto seen = see_(*view);
  Looked looked;
  for (const config::Rail& rail : config_.rails) {
    const auto look = pools_.at(rail.index).See(seen[rail.name], now);
    if (look.changed) looked.changed.push_back(&rail);
    looked.again = Earlier(looked.again, look.look_again);
  }
  return looked;
}

std::vector<RailPools::Count> RailPools::counts() const {
  std::vector<Count> counts;
  for (const config::Rail& rail : config_.rails) {
    Count& count = counts.emplace_back(Count{.rail = rail.name});
    for (const kubelet::Device& device : Of(rail)) {
      count.devices.push_back(device.id);
      if (device.healthy)
        ++count.healthy;
      else if (count.problem.empty())
        count.problem = device.id + ": " + device.reason;
    }
  }
  return counts;
}

}  // namespace rail::raild
