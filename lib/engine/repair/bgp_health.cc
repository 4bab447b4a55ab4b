// What is wrong with what bgpd pushes, in words for the health of raild's parts.
#include <algorithm>

#include "lib/base/log.h"
#include "lib/engine/repair/bgp.h"

namespace rail::engine {

Status BgpRepair::FeedHealth() const {
  std::string why = why_no_feed_;
  for (const auto& [vrf, feed] : feeds_) {
    if (why.empty() && !feed.configured) why = feed.configured.error().message;
  }
  if (why.empty()) {
    const BgpInstance* without = WithoutFeed();
    if (without == nullptr) return {};
    const frr::FeedTarget target = FeedTargetOf(*without);
    why = (without->vrf.empty() ? "bgpd" : "bgpd's instance of VRF " + without->vrf) +
          " has not connected to " + target.address.ToString() + " port " + std::to_string(target.port);
  }
  const bool any_open = std::ranges::any_of(feeds_, [](const auto& one) { return one.second.open; });
  if (any_open) return Fail(Code::kInvalid, "what bgpd pushes (BMP): " + why);
  return Fail(Code::kUnsupported, "nothing new is learned, and what was learned stays: " + why);
}

Status BgpRepair::PrefixHealth() const {
  const uint32_t most = config_.bgp.max_prefixes;
  for (const auto& [interface, session] : sessions_) {
    const BgpInstance* instance = InstanceOf(interface);
    if (instance == nullptr || session.most_prefixes <= most) continue;
    const auto peer = std::ranges::find(instance->peers, interface, &frr::RailPeer::interface);
    const std::string in_vrf =
        instance->vrf.empty() ? "" : " in VLAN " + std::to_string(instance->tenant.vlan);
    return Fail(Code::kInvalid,
                "the leaf of rail " + peer->rail + " sends" + in_vrf + " " +
                    std::to_string(session.most_prefixes) + " prefixes of one family, and " +
                    "bgp.max_prefixes expects " + std::to_string(most) +
                    " at most: all of them are learned; see what the leaf passes on, or raise the bound");
  }
  return {};
}

// A restart while a leaf is silent gives the unit the same name.
void BgpRepair::LookAtLeaves() {
  const std::string before = leaves_.unit();
  // A rail's leaf is one, however many tenants it serves.
  std::map<std::string, frr::Session> by_bridge;
  for (const BgpInstance& instance : instances_) {
    for (const frr::RailPeer& peer : instance.peers) {
      const config::Rail* rail = config_.FindRail(peer.rail);
      const auto session = sessions_.find(peer.interface);
      if (rail == nullptr || session == sessions_.end()) continue;
      const auto [known, first] = by_bridge.emplace(rail->bridge, session->second);
      if (!first && !known->second.established()) known->second = session->second;
    }
  }
  leaves_.Look(by_bridge);
  if (leaves_.unit() != before) log::Info("the leaves make the unit {}", leaves_.unit());
  if (!leaves_.TakeChanged() || deps_.leaves_file.empty()) return;
  const Status kept = WriteLeaves(deps_.leaves_file, leaves_.to_keep());
  if (!kept)
    log::Warning("{}: after a restart the unit has no name while a leaf is silent", kept.error().message);
}

}  // namespace rail::engine
