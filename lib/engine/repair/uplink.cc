#include "lib/engine/repair/uplink.h"

#include <algorithm>

#include "lib/engine/attach/differences.h"

namespace rail::engine {
namespace {

constexpr std::chrono::seconds kLookLimit{5};

}  // namespace

UplinkNews UplinkWatch::Look() {
  Connections connections(deps_.openers(config_), After(kLookLimit));
  auto host = connections.Netlink();
  UplinkNews news{.seen = Clock::now()};
  for (const config::Rail& rail : config_.rails) {
    auto link = host ? (*host)->GetLink(rail.pf) : Result<netlink::Link>(tl::make_unexpected(host.error()));
    const std::string problem = UplinkProblem(rail, link);
    node_status_.Note({Part::kUplink, rail.name},
                      problem.empty() ? Status() : Fail(Code::kTransient, problem));
    if (!link && link.error().code != Code::kNotFound) continue;
    const auto [known, first] = uplinks_.try_emplace(rail.name);
    const Uplink before = known->second;
    const bool up = link && link->carrier;
    known->second = {link ? link->index : 0, up, link ? link->carrier_losses : 0};
    node_status_.SetUplink(rail.name, up);
    node_status_.ChangeRail(rail.name,
                            [&](v1::Rail& seen) { seen.set_carrier_losses(known->second.losses); });
    // A carrier that was lost between two checks has cost the leaf its session all the same.
    const bool was_away = !before.up || (up && known->second.losses != before.losses);
    if (!first && up && was_away) news.back.push_back(rail.name);
    news.changed = news.changed || before.up != up || (!first && up && was_away);
  }
  return news;
}

bool UplinkWatch::Concerned(const std::vector<int>& links) const {
  return std::ranges::any_of(config_.rails, [&](const config::Rail& rail) {
    const auto uplink = uplinks_.find(rail.name);
    // The link that has just come may be an uplink that was not there.
    return uplink == uplinks_.end() || uplink->second.index == 0 ||
           std::ranges::find(links, uplink->second.index) != links.end();
  });
}

}  // namespace rail::engine
