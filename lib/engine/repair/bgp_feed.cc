// bgpd's BMP connections, one for each instance: that it is told to open them, what comes over them, and when one must begin anew.
#include <algorithm>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/engine/repair/bgp.h"

namespace rail::engine {
namespace {

// bgpd tries to connect every second at the latest.
constexpr std::chrono::seconds kFeedDue{4};

}  // namespace

const BgpInstance* BgpRepair::WithoutFeed() const {
  for (const BgpInstance& instance : instances_) {
    const auto feed = feeds_.find(instance.vrf);
    const bool up =
        feed != feeds_.end() && (feed->second.open || (feed->second.due && deps_.now() < *feed->second.due));
    if (!up && !instance.peers.empty()) return &instance;
  }
  return nullptr;
}

frr::FeedTarget BgpRepair::FeedTargetOf(const BgpInstance& instance) const {
  frr::FeedTarget target(config_.bgp.bmp_port);
  if (instance.rail != nullptr) target.address = FeedAddress(*instance.rail, instance.tenant.vlan);
  return target;
}

// Every audit tries again, whatever keeps bgpd from pushing: it may be another bgpd by then.
Status BgpRepair::EnsureFeeds(Connections& connections) {
  if (!why_no_feed_.empty()) return {};
  std::erase_if(feeds_, [&](const auto& one) {
    return !one.second.open &&
           std::ranges::find(instances_, one.first, &BgpInstance::vrf) == instances_.end();
  });
  Status whole;
  for (const BgpInstance& instance : instances_) {
    if (instance.peers.empty()) continue;
    Feed& feed = feeds_[instance.vrf];
    feed.configured = EnsureFeed(connections, instance);
    if (!feed.configured) feed.due.reset();
    if (whole && !feed.configured) whole = feed.configured;
  }
  return whole;
}

Status BgpRepair::EnsureFeed(Connections& connections, const BgpInstance& instance) {
  RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
  if (config_.bgp.manage) RAIL_TRY(RecordOrigin(connections));
  RAIL_ASSIGN(const bool sent, bgp->Instance(instance.vrf)
                                   .EnsureFeed(instance.peers, FeedTargetOf(instance), config_.bgp.manage,
                                               connections.CallDeadline()));
  Feed& feed = feeds_[instance.vrf];
  feed.settling = feed.settling || sent;
  if (!feed.open && (sent || !feed.due)) feed.due = deps_.now() + kFeedDue;
  return {};
}

void BgpRepair::FeedOpened(const std::string& vrf) {
  log::Info("bgpd pushes what it learns{}{}", vrf.empty() ? "" : " in VRF ", vrf);
  Feed& feed = feeds_[vrf];
  feed.opened = deps_.now();
  remotes_.FeedOpened(vrf, feed.opened, feed.settling);
  feed.open = sessions_outdated_ = true;
  feed.settling = alike_ = false;
  feed.stall.Opened();
  feed.due.reset();
  node_status_.Note(Part::kBgpFeed, FeedHealth());
}

void BgpRepair::FeedClosed(const std::string& why, const std::string& vrf) {
  log::Info("bgpd pushes no more{}{}: {}", vrf.empty() ? "" : " in VRF ", vrf, why);
  remotes_.FeedClosed(vrf, deps_.now());
  Feed& feed = feeds_[vrf];
  feed.open = false;
  sessions_outdated_ = true;
  feed.due = deps_.now() + kFeedDue;
  // The instance went with its tenant.
  if (std::ranges::find(instances_, vrf, &BgpInstance::vrf) == instances_.end()) feeds_.erase(vrf);
}

bool BgpRepair::MayBeStalled() const {
  return std::ranges::any_of(feeds_, [&](const auto& one) { return one.second.MayBeStalled(deps_.now()); });
}

void BgpRepair::SessionLost(const std::string& interface) {
  const auto feed = feeds_.find(VrfOf(interface));
  if (feed != feeds_.end()) feed->second.stall.SessionLost();
}

// Only bgpd knows on which interface a peer comes up: it may be a leaf that raild has not seen yet, or one that looks like a leaf. Its routes
// follow at once, so raild asks now. The instance of a tenant on a rail has no other session.
void BgpRepair::AskWho(const bmp::Message& message, const std::string& vrf) {
  // The sessions of rails are unnumbered, so their peers have link-local addresses.
  if (message.kind != bmp::Message::Kind::kPeerUp || !message.peer.address.is_link_local()) return;
  if (!vrf.empty() && remotes_.IsLeaf(vrf, message.peer)) return;
  Connections connections(deps_.openers(config_), After(kRoundLimit));
  const Status asked = Sessions(connections, untold_);
  if (!asked)
    log::Warning("{} comes up, and whose it is is not known: {}", message.peer.ToString(),
                 asked.error().message);
}

void BgpRepair::Pushed(const bmp::Message& message, const std::string& vrf) {
  AskWho(message, vrf);
  remotes_.Take(vrf, message, deps_.now(), UnixMs());
  if (remotes_.TakeSessionNews()) {
    sessions_outdated_ = true;
    if (message.kind == bmp::Message::Kind::kPeerDown) feeds_[vrf].stall.SessionLost();
  }
  if (remotes_.ambiguous()) sessions_outdated_ = true;  // bgpd's sessions show whether there are two
}

Status BgpRepair::LookForStall(Connections& connections) {
  for (auto& [vrf, feed] : feeds_) {
    if (!feed.MayBeStalled(deps_.now())) continue;
    RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
    RAIL_ASSIGN(const uint64_t version, bgp->Instance(vrf).TableVersion(connections.CallDeadline()));
    std::map<std::string, frr::Session> its;
    for (const auto& [interface, session] : sessions_) {
      if (VrfOf(interface) == vrf) its.emplace(interface, session);
    }
    feed.stall.Check(its, version, deps_.now());
  }
  return {};
}

std::string BgpRepair::feed_to_close(const std::string& vrf) const {
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

}  // namespace rail::engine
