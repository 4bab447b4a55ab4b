#include "lib/engine/repair/bgp_feed.h"

#include <algorithm>

#include "lib/base/clock.h"
#include "lib/base/log.h"

namespace rail::engine {
namespace {

// bgpd tries to connect every second at the latest.
constexpr std::chrono::seconds kFeedDue{4};
// How often to open a connection anew because of sessions that BMP cannot distinguish. bgpd dumps its table each time.
constexpr std::chrono::seconds kInDoubt{30};

}  // namespace

Status BgpFeeds::Ensure(Connections& connections) {
  if (!why_no_listener_.empty()) return {};
  std::erase_if(feeds_, [&](const auto& one) { return !one.second.open && !instances_.Has(one.first); });
  Status whole;
  for (const BgpInstance& instance : instances_.all()) {
    if (instance.peers.empty()) continue;
    Feed& feed = feeds_[instance.vrf];
    feed.configured = EnsureOne(connections, instance, feed);
    if (!feed.configured) feed.due.reset();
    if (whole && !feed.configured) whole = feed.configured;
  }
  return whole;
}

Status BgpFeeds::EnsureOne(Connections& connections, const BgpInstance& instance, Feed& feed) {
  RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
  if (config_.bgp.manage) RAIL_TRY(instances_.RecordOrigin(connections));
  RAIL_ASSIGN(const bool sent, bgp->Instance(instance.vrf)
                                   .EnsureFeed(instance.peers, TargetOf(instance), config_.bgp.manage,
                                               connections.CallDeadline()));
  feed.settling = feed.settling || sent;
  if (!feed.open && (sent || !feed.due)) feed.due = deps_.now() + kFeedDue;
  return {};
}

void BgpFeeds::Opened(const std::string& vrf) {
  Feed& feed = feeds_[vrf];
  feed.opened = deps_.now();
  remotes_.FeedOpened(vrf, feed.opened, feed.settling);
  feed.open = true;
  feed.settling = alike_ = false;
  feed.stall.Opened();
  feed.due.reset();
}

void BgpFeeds::Closed(const std::string& vrf) {
  remotes_.FeedClosed(vrf, deps_.now());
  // The instance went with its tenant.
  if (!instances_.Has(vrf)) {
    feeds_.erase(vrf);
    return;
  }
  Feed& feed = feeds_[vrf];
  feed.open = false;
  feed.due = deps_.now() + kFeedDue;
}

bool BgpFeeds::Take(const bmp::Message& message, const std::string& vrf) {
  remotes_.Take(vrf, message, deps_.now(), UnixMs());
  const bool news = remotes_.TakeSessionNews();
  if (news && message.kind == bmp::Message::Kind::kPeerDown) SessionLost(vrf);
  return news || remotes_.ambiguous();
}

void BgpFeeds::SessionLost(const std::string& vrf) {
  const auto feed = feeds_.find(vrf);
  if (feed != feeds_.end()) feed->second.stall.SessionLost();
}

bool BgpFeeds::MayBeStalled() const {
  return std::ranges::any_of(feeds_, [&](const auto& one) { return one.second.MayBeStalled(deps_.now()); });
}

Status BgpFeeds::LookForStall(Connections& connections, const std::map<std::string, frr::Session>& sessions) {
  for (auto& [vrf, feed] : feeds_) {
    if (!feed.MayBeStalled(deps_.now())) continue;
    RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
    RAIL_ASSIGN(const uint64_t version, bgp->Instance(vrf).TableVersion(connections.CallDeadline()));
    std::map<std::string, frr::Session> its;
    for (const auto& [interface, session] : sessions) {
      if (instances_.VrfOf(interface) == vrf) its.emplace(interface, session);
    }
    feed.stall.Check(its, version, deps_.now());
  }
  return {};
}

void BgpFeeds::CheckAlike(const std::map<std::string, frr::Session>& sessions) {
  if (!remotes_.ambiguous()) return;
  // The leaf has one address in all its VRFs, and each VRF has a connection of its own.
  const auto alike = [&](const frr::Session& a, const frr::Session& b) {
    const bool may_be_one =
        !a.leaf || !b.leaf ||
        std::pair(a.leaf->asn, a.leaf->router_id) == std::pair(b.leaf->asn, b.leaf->router_id);
    return a.interface < b.interface && a.peer && a.peer == b.peer && may_be_one &&
           instances_.VrfOf(a.interface) == instances_.VrfOf(b.interface);
  };
  const bool twice = std::ranges::any_of(sessions, [&](const auto& a) {
    return std::ranges::any_of(sessions, [&](const auto& b) { return alike(a.second, b.second); });
  });
  if (!twice) return remotes_.NotAmbiguous();
  alike_ = true;
}

std::string BgpFeeds::to_close(const std::string& vrf) const {
  const auto known = feeds_.find(vrf);
  if (known == feeds_.end()) return "";
  const Feed& feed = known->second;
  if (feed.open && remotes_.has_no_feed(vrf)) return "its tenant has come back; it begins anew";
  if (remotes_.missed(vrf)) return "a leaf was not known when it told its routes; it begins anew";
  if (feed.stall.stalled())
    return "a session was lost, which may hold back what all others tell; it begins anew";
  if (remotes_.in_doubt(vrf) && deps_.now() >= feed.opened + kInDoubt)
    return "of two sessions that BMP does not tell apart one has changed; it begins anew";
  return "";
}

std::optional<Deadline> BgpFeeds::next(bool answers) const {
  std::optional<Deadline> next;
  const Deadline now = deps_.now();
  for (const auto& [vrf, feed] : feeds_) {
    if (!feed.open && feed.due > now) next = Earlier(next, feed.due);
    if (!feed.open || !answers) continue;
    if (remotes_.in_doubt(vrf)) next = Earlier(next, feed.opened + kInDoubt);
    if (remotes_.has_no_feed(vrf) || remotes_.missed(vrf)) next = Earlier(next, now);
    if (feed.stall.next() > now) next = Earlier(next, feed.stall.next());
  }
  return next;
}

const BgpInstance* BgpFeeds::Late() const {
  for (const BgpInstance& instance : instances_.all()) {
    const auto feed = feeds_.find(instance.vrf);
    const bool up =
        feed != feeds_.end() && (feed->second.open || (feed->second.due && deps_.now() < *feed->second.due));
    if (!up && !instance.peers.empty()) return &instance;
  }
  return nullptr;
}

frr::FeedTarget BgpFeeds::TargetOf(const BgpInstance& instance) const {
  frr::FeedTarget target(config_.bgp.bmp_port);
  if (instance.rail != nullptr) target.address = FeedAddress(*instance.rail, instance.tenant.vlan);
  return target;
}

Status BgpFeeds::health() const {
  std::string why = why_no_listener_;
  for (const auto& [vrf, feed] : feeds_) {
    if (why.empty() && !feed.configured) why = feed.configured.error().message;
  }
  if (why.empty()) {
    const BgpInstance* late = Late();
    if (late == nullptr) return {};
    const frr::FeedTarget target = TargetOf(*late);
    why = (late->vrf.empty() ? "bgpd" : "bgpd's instance of VRF " + late->vrf) + " has not connected to " +
          target.address.ToString() + " port " + std::to_string(target.port);
  }
  const bool any_open = std::ranges::any_of(feeds_, [](const auto& one) { return one.second.open; });
  if (any_open) return Fail(Code::kInvalid, "what bgpd pushes (BMP): " + why);
  return Fail(Code::kUnsupported, "nothing new is learned, and what was learned stays: " + why);
}

}  // namespace rail::engine
