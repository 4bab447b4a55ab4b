#include "lib/engine/uplink.h"

#include <algorithm>

namespace rail::engine {
namespace {

constexpr std::chrono::seconds kLookLimit{5};

}  // namespace

std::string UplinkProblem(const config::Rail& rail, const Result<netlink::Link>& link) {
  if (!link) return "the uplink " + rail.pf + " of rail " + rail.name + ": " + link.error().message;
  if (link->carrier) return {};
  return "the uplink " + rail.pf + " of rail " + rail.name + " has no carrier" +
         (link->up ? " (is the cable in, is the leaf's port up?)" : " (it is set down)") +
         "; the rail's addresses are not announced until it is back";
}

bool UplinkWatch::Look() {
  Edges edges(deps_.openers(config_), After(kLookLimit));
  auto host = edges.Netlink();
  bool changed = false;
  for (const config::Rail& rail : config_.rails) {
    auto link = host ? (*host)->GetLink(rail.pf) : Result<netlink::Link>(tl::make_unexpected(host.error()));
    const std::string problem = UplinkProblem(rail, link);
    picture_.Note("uplink of rail " + rail.name,
                  problem.empty() ? Status() : Fail(Code::kTransient, problem));
    if (!link && link.error().code != Code::kNotFound) continue;
    Uplink& uplink = uplinks_[rail.name];
    const bool up = link && link->carrier;
    changed = changed || uplink.up != up;
    uplink = {link ? link->index : 0, up};
    picture_.SetUplink(rail.name, up);
  }
  return changed;
}

bool UplinkWatch::Concerned(const std::vector<int>& links) const {
  return std::ranges::any_of(config_.rails, [&](const config::Rail& rail) {
    const auto uplink = uplinks_.find(rail.name);
    // One that is not there may be what has just come.
    return uplink == uplinks_.end() || uplink->second.index == 0 ||
           std::ranges::find(links, uplink->second.index) != links.end();
  });
}

}  // namespace rail::engine
