#include "lib/engine/repair_bgp.h"

#include <algorithm>
#include <set>

#include "lib/base/log.h"

namespace rail::engine {
namespace {

using state::Attachment;
using state::Phase;

constexpr std::chrono::seconds kRoundLimit{20};

// A session that has just come up may not have sent everything yet; one that is down comes back within the leaf's graceful
// restart time, or the remotes behind it are gone for good.
constexpr std::chrono::milliseconds kSettled{5000};
constexpr std::chrono::seconds kStale{120};

}  // namespace

BgpRepair::BgpRepair(const config::NodeConfig& config, const Deps& deps, state::Store& store,
                     Picture& picture)
    : config_(config), deps_(deps), store_(store), picture_(picture) {}

// The order keeps routes at the leaf through a restart of bgpd: the instance, the addresses, and only then the sessions,
// which end the leaf's graceful restart with everything announced.
bool BgpRepair::Audit() {
  Edges edges(deps_.openers(config_), After(kRoundLimit));
  Status whole;
  const auto note = [&](const std::string& part, const Status& status) {
    picture_.Note(part, status);
    if (whole && !status) whole = status;
  };
  Status before;
  if (config_.bgp.manage) note("bgp instance", before = BgpBase(edges, {}));
  if (before) note("bgp announcements", before = Announcements(edges));
  // A session that comes up without the announcements makes the leaf forget them. One address that bgpd refuses for good
  // must not keep all others from the leaf, though.
  if (config_.bgp.manage && (before || before.error().code != Code::kTransient)) {
    note("bgp sessions", BgpBase(edges, config_.rails));
  }
  if (whole) {
    backoff_.Right();
  } else {
    backoff_.Failed();
  }
  const bool news = LearnAndTell(edges);
  picture_.Publish(store_);
  return news;
}

bool BgpRepair::Poll() {
  Edges edges(deps_.openers(config_), After(kRoundLimit));
  if (!LearnAndTell(edges)) return false;
  picture_.Publish(store_);
  return true;
}

bool BgpRepair::LearnAndTell(Edges& edges) {
  bool news = false;
  picture_.Note("bgp", Learn(edges, news));
  if (news) {
    picture_.SetLearned(std::make_shared<const engine::Learned>(
        engine::Learned{.remotes = remotes_, .sessions = sessions_, .complete = complete_}));
  }
  return news;
}

Status BgpRepair::BgpBase(Edges& edges, const std::vector<config::Rail>& rails) {
  RAIL_ASSIGN(frr::Bgp * bgp, edges.Bgp());
  frr::BaseConfig base{.router_id = config_.bgp.router_id, .rails = {}};
  for (const config::Rail& rail : rails) base.rails.push_back({rail.name, rail.index, rail.bridge});
  RAIL_ASSIGN(const std::vector<std::string> sent, bgp->EnsureBase(base, edges.CallDeadline()));
  if (!sent.empty()) log::Info("bgpd: {} lines of the base configuration sent", sent.size());
  picture_.Repaired("bgp configuration", sent.size());
  return {};
}

// bgpd first, the record second, as everywhere.
Status BgpRepair::Announcements(Edges& edges) {
  RAIL_ASSIGN(frr::Bgp * bgp, edges.Bgp());
  RAIL_ASSIGN(const std::vector<frr::Announcement> seen, bgp->Announced(edges.CallDeadline()));
  RAIL_ASSIGN(const Record record, Record::Read(store_));
  std::map<IpAddress, frr::Announcement> wanted;
  std::set<IpAddress> explained;  // by an ADD or DEL that may be under way
  for (const Attachment& attachment : record.attachments) {
    const config::Rail* rail = config_.FindRail(attachment.rail);
    if (rail == nullptr || !record.Has(attachment.id, step::kAnnounce)) continue;
    explained.insert(attachment.addresses.begin(), attachment.addresses.end());
    if (!attachment.announced || attachment.phase == Phase::kDeleting) continue;
    for (const IpAddress& address : attachment.addresses) {
      wanted[address] = {address, rail->name, rail->index, {attachment.tenant_id}};
    }
  }
  for (const frr::Announcement& announcement : seen) {
    const auto it = wanted.find(announcement.address);
    if (!explained.contains(announcement.address)) {
      RAIL_TRY(bgp->Withdraw(announcement.address, edges.CallDeadline()));
      log::Info("bgpd: {} belonged to no attachment any more, withdrawn",
                announcement.address.ToHostPrefix());
      picture_.Repaired("orphan announcement");
    } else if (it != wanted.end() && it->second == announcement) {
      wanted.erase(it);
    }
  }
  if (wanted.empty()) return {};
  std::vector<frr::Announcement> missing;
  for (const auto& [address, announcement] : wanted) missing.push_back(announcement);
  RAIL_TRY(bgp->AnnounceAll(missing, edges.CallDeadline()));
  log::Info("bgpd: {} addresses were not announced as recorded, announced again", missing.size());
  picture_.Repaired("announcement", missing.size());
  return {};
}

bool BgpRepair::SessionsSettled() const {
  return std::ranges::all_of(config_.rails, [&](const config::Rail& rail) {
    const auto session = sessions_.find(rail.bridge);
    return session != sessions_.end() && session->second.established() &&
           std::chrono::milliseconds(session->second.uptime_ms) >= kSettled;
  });
}

// A restart of bgpd or a flap of a session empties bgpd's table for a moment. Pods keep talking meanwhile: a remote goes when
// settled sessions no longer carry it, or when the sessions have not settled in time.
Status BgpRepair::Learn(Edges& edges, bool& changed) {
  auto bgp = edges.Bgp();
  if (!bgp) {
    table_version_.reset();  // the next bgpd counts anew
    return tl::make_unexpected(bgp.error());
  }
  RAIL_ASSIGN(const std::vector<frr::Session> sessions, (*bgp)->Sessions(edges.CallDeadline()));
  for (const frr::Session& session : sessions) {
    frr::Session& before = sessions_[session.interface];
    changed = changed || before.state != session.state ||
              before.prefixes_received != session.prefixes_received ||
              before.prefixes_sent != session.prefixes_sent;
    if (before.state != session.state) log::Info("bgp session on {}: {}", session.interface, session.state);
    // A session that went down and came back between two looks is younger than it was.
    if (before.state != session.state || session.uptime_ms < before.uptime_ms) table_version_.reset();
    before = session;
  }
  if (SessionsSettled()) {
    keep_until_.reset();
  } else if (!keep_until_) {
    keep_until_ = After(kStale);
  }
  const bool keep = keep_until_ && Clock::now() < *keep_until_;
  if (keeping_ && !keep) table_version_.reset();

  RAIL_ASSIGN(const uint64_t table_version, (*bgp)->TableVersion(edges.CallDeadline()));
  if (table_version_ == table_version) return {};
  RAIL_ASSIGN(const std::vector<frr::Remote> heard, (*bgp)->Remotes(edges.CallDeadline()));
  std::map<IpAddress, frr::Remote> fresh;
  for (const frr::Remote& remote : heard) fresh.emplace(remote.address, remote);
  if (keep) fresh.insert(remotes_.begin(), remotes_.end());
  changed = changed || fresh != remotes_;
  remotes_ = std::move(fresh);
  table_version_ = table_version;
  keeping_ = keep;
  if (!keep && !complete_) complete_ = changed = true;
  return {};
}

}  // namespace rail::engine
