#include "lib/engine/repair/bgp_announcements.h"

#include <set>

#include "lib/base/log.h"
#include "lib/base/text.h"

namespace rail::engine {
namespace {

using state::Attachment;
using state::Phase;

// So many addresses of a repair are named in the log.
constexpr size_t kMostSaid = 8;
// An announcement that no record explains may be of a pod that the record has lost: the switch's repair sees that by its port, within an
// audit.
constexpr std::chrono::seconds kOrphanGrace{60};

}  // namespace

Status AnnouncementRepair::Repair(Connections& connections, const std::vector<BgpInstance>& instances,
                                  FailedInstances& failed, size_t& sent) {
  frr::Bgp* bgp = nullptr;
  const auto read = [&]() -> Result<std::vector<std::string>> {
    RAIL_ASSIGN(bgp, connections.Bgp());
    return bgp->OurInstances(connections.CallDeadline());
  }();
  if (!read) return failed[""] = tl::make_unexpected(read.error());
  std::set<std::string> vrfs(read->begin(), read->end());
  for (const BgpInstance& instance : instances) vrfs.insert(instance.vrf);
  std::erase_if(announced_, [&](const auto& one) { return !vrfs.contains(one.first); });
  Orphans still;
  Status whole;
  for (const std::string& vrf : vrfs) {
    if (failed.contains(vrf)) continue;
    const Status done = RepairIn(connections, bgp->Instance(vrf), vrf, still, sent);
    if (whole && !done) whole = done;
    if (!done && done.error().code == Code::kTransient) failed[vrf] = done;
  }
  // What could not be looked at is as old as it was.
  for (const auto& [at, since] : orphans_) {
    if (failed.contains(at.first)) still.emplace(at, since);
  }
  orphans_ = std::move(still);
  return whole;
}

// Reads bgpd first and the record second, as everywhere.
Status AnnouncementRepair::RepairIn(Connections& connections, frr::Bgp& bgp, const std::string& vrf,
                                    Orphans& still, size_t& sent) {
  RAIL_ASSIGN(const std::vector<frr::Announcement> seen, bgp.Announced(connections.CallDeadline()));
  RAIL_ASSIGN(const RecordPtr record, record_.Read());
  std::map<IpAddress, frr::Announcement> wanted;
  std::set<IpAddress> explained;  // by an ADD or DEL that may be under way
  std::set<IpAddress> lost;       // of pods without their device
  for (const Attachment& attachment : record->attachments) {
    const config::Rail* rail = config_.FindRail(attachment.rail);
    if (rail == nullptr || !record->Has(attachment.id, step::kAnnounce)) continue;
    const auto announcer = AnnouncerOf(config_, *rail, attachment.tenant);
    if (!announcer || announcer->vrf != vrf) continue;
    if (announcer->vlan != VlanOf(config_.tenancy.vlans, attachment, record->steps.at(attachment.id)))
      continue;
    explained.insert(attachment.addresses.begin(), attachment.addresses.end());
    if (!attachment.announced || attachment.phase == Phase::kDeleting) continue;
    if (node_status_.HasLostDevice(attachment.id)) {
      lost.insert(attachment.addresses.begin(), attachment.addresses.end());
      continue;
    }
    // Nobody reaches a pod behind an uplink without a carrier, so nothing is announced until the carrier is back.
    if (node_status_.UplinkIsDown(rail->name)) continue;
    for (const frr::Announcement& each : AnnouncementsOf(attachment, *rail)) wanted[each.address] = each;
  }
  Announced& stands = announced_[vrf];
  const Announced stood = std::exchange(stands, {});
  for (const frr::Announcement& announcement : seen) {
    const auto it = wanted.find(announcement.address);
    if (!explained.contains(announcement.address)) {
      const std::pair at(vrf, announcement.address);
      const Deadline since = orphans_.emplace(at, deps_.now()).first->second;
      still.emplace(at, since);
      if (node_status_.HasUnrecorded() || deps_.now() - since < kOrphanGrace) continue;
      RAIL_TRY(bgp.Withdraw(announcement.address, connections.CallDeadline()));
      log::Info("bgpd: {} belonged to no attachment any more, withdrawn",
                announcement.address.ToHostPrefix());
      node_status_.Repaired("orphan announcement");
    } else if (lost.contains(announcement.address)) {
      RAIL_TRY(bgp.Withdraw(announcement.address, connections.CallDeadline()));
      log::Warning("bgpd: {} withdrawn until its pod has its device again",
                   announcement.address.ToHostPrefix());
    } else if (node_status_.UplinkIsDown(announcement.rail)) {
      RAIL_TRY(bgp.Withdraw(announcement.address, connections.CallDeadline()));
      log::Info("bgpd: {} withdrawn until rail {} has a carrier again", announcement.address.ToHostPrefix(),
                announcement.rail);
    } else if (it != wanted.end() && it->second == announcement) {
      stands.insert(*it);
      wanted.erase(it);
    }
  }
  if (wanted.empty()) return {};
  std::vector<frr::Announcement> missing;
  for (const auto& [address, announcement] : wanted) missing.push_back(announcement);
  return Announce(bgp, connections, missing, stood, stands, sent);
}

// Announces all at once. If bgpd refuses one of them for good, announces each on its own, so that one keeps no other from the
// leaf. Returns the first refusal.
Status AnnouncementRepair::Announce(frr::Bgp& bgp, Connections& connections,
                                    const std::vector<frr::Announcement>& missing, const Announced& stood,
                                    Announced& stands, size_t& sent) {
  size_t announced = 0, lost = 0;
  std::string first;
  const auto announce = [&](const std::vector<frr::Announcement>& some) -> Status {
    RAIL_TRY(bgp.AnnounceAll(some, connections.CallDeadline()));
    for (const frr::Announcement& each : some) {
      const auto was = stood.find(each.address);
      lost += was != stood.end() && was->second == each ? 1 : 0;
      stands[each.address] = each;
      if (announced++ < kMostSaid) Append(first, ", ", each.address.ToHostPrefix());
    }
    return {};
  };
  const auto is_transient = [](const Status& status) {
    return !status && status.error().code == Code::kTransient;
  };
  Status status = announce(missing);
  if (!status && !is_transient(status) && missing.size() > 1) {
    status = {};
    for (const frr::Announcement& announcement : missing) {
      const Status one = announce({announcement});
      if (status || is_transient(one)) status = one;
      if (is_transient(one)) break;
    }
  }
  if (announced == 0) return status;
  const char* more = announced > kMostSaid ? ", ..." : "";
  if (lost == 0) {
    log::Info("bgpd: {} addresses announced: {}{}", announced, first, more);
  } else {
    log::Warning("bgpd: {} addresses were not announced as recorded, announced again: {}{}", announced, first,
                 more);
  }
  node_status_.Repaired("announcement", lost);
  sent += announced;
  return status;
}

}  // namespace rail::engine
