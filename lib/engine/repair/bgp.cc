#include "lib/engine/repair/bgp.h"

#include "lib/base/log.h"

namespace rail::engine {

BgpRepair::BgpRepair(const config::NodeConfig& config, const Deps& deps, state::Store& store,
                     NodeStatus& node_status)
    : config_(config),
      deps_(deps),
      record_(store),
      node_status_(node_status),
      remotes_(config, deps_.now()),
      instances_(config, deps_, record_, node_status),
      announcements_(config, deps_, record_, node_status),
      frontend_(config, deps_),
      feeds_(config, deps_, instances_, remotes_),
      sessions_(config, deps_, instances_, remotes_, feeds_),
      publisher_(config, deps_, record_, node_status, remotes_) {}

// The order keeps routes at the leaf through a restart of bgpd: first the instance, then the addresses, and only then the
// sessions. A session ends the leaf's graceful restart, and by then everything is announced. An instance that fails on the way gets no
// session; only the default one, which has the maps and lists of all, keeps the others back.
bool BgpRepair::Audit() {
  sessions_.AuditBegins();
  remotes_.SetMark(instances_.Mark(), deps_.now());
  Connections connections(deps_.openers(config_), After(kRoundLimit));
  Status whole;
  const auto note = [&](Part part, const Status& status) {
    node_status_.Note(part, status);
    if (whole && !status) whole = status;
  };
  FailedInstances failed;
  size_t sent = 0;
  const auto before = [&] { return failed.contains("") ? failed.at("") : Status(); };
  // Without the record nothing is known of tenants, and what is there stays.
  const Status read = instances_.Read();
  if (read) remotes_.SetInstances(instances_.all(), deps_.now());
  const auto bgpd = connections.Bgp();
  if (bgpd) (*bgpd)->ReadOnce(true);
  if (config_.bgp.manage)
    note(Part::kBgpInstance, instances_.Ensure(connections, BgpInstances::Peers::kNone, failed, sent));
  if (config_.bgp.manage && before()) RepairFrontend(connections, note, sent);
  if (before()) {
    note(Part::kBgpAnnouncements, announcements_.Repair(connections, instances_.all(), failed, sent));
  }
  // A session that comes up without the announcements makes the leaf forget them. One address that bgpd refuses for good
  // must not keep all others from the leaf, though.
  if (config_.bgp.manage && (before() || before().error().code != Code::kTransient)) {
    note(Part::kBgpSessions, instances_.Ensure(connections, BgpInstances::Peers::kAll, failed, sent));
  }
  if (config_.bgp.manage && before() && read)
    note(Part::kUnusedInstances, instances_.RemoveUnused(connections));
  mended_ = sent > 0;
  const Status fed = feeds_.Ensure(connections);
  // Only a new bgpd helps against a missing module, so there is no reason to try again sooner.
  if (whole && !fed && fed.error().code == Code::kTransient) whole = fed;
  node_status_.Note(Part::kBgpFeed, feeds_.health());
  if (whole) {
    backoff_.Right();
  } else {
    backoff_.Failed();
  }
  if (bgpd) (*bgpd)->ReadOnce(false);
  const bool news = AskAndPublish(connections);
  node_status_.Changed();
  return news;
}

void BgpRepair::RepairFrontend(Connections& connections, const Note& note, size_t& sent) {
  size_t of_it = 0;
  const bool stood = frontend_.stood();
  const Status done = [&]() -> Status {
    RAIL_TRY(instances_.RecordOrigin(connections));
    return frontend_.Ensure(connections, of_it);
  }();
  if (config_.frontend.on() || !done) note(Part::kFrontend, done);
  if (stood) node_status_.Repaired("front end", of_it);
  sent += of_it;
}

bool BgpRepair::Poll() {
  const bool due = sessions_.IsDue() || frontend_.IsDue();
  if (!sessions_.answers() || !due || sessions_.IsTooSoon()) {
    remotes_.Settle(deps_.now());
    return Tell();
  }
  Connections connections(deps_.openers(config_), After(kRoundLimit));
  return AskAndPublish(connections);
}

std::optional<Deadline> BgpRepair::next_poll() const {
  const std::optional<Deadline> next =
      Earlier(Earlier(remotes_.next_settle(), publisher_.next()), feeds_.next(sessions_.answers()));
  if (!sessions_.answers()) return next;
  return Earlier(next,
                 sessions_.next_retry() ? sessions_.next() : Earlier(sessions_.next(), frontend_.next()));
}

bool BgpRepair::CarrierBack(const std::vector<std::string>& rails, Deadline seen) {
  Connections connections(deps_.openers(config_), After(kRoundLimit));
  const Status ended = sessions_.CarrierBack(connections, rails, seen);
  if (!ended) log::Warning("sessions of rails whose carrier is back: {}", ended.error().message);
  return Publish();
}

bool BgpRepair::InstancesChanged() {
  if (config_.tenancy.mode != config::TenancyMode::kVrf) return false;
  // What has failed is tried again in its own time, and this with it.
  return (!backoff_.next() && instances_.UnusedIsDue()) || instances_.Changed();
}

bool BgpRepair::Tell() {
  if (!Publish()) return false;
  sessions_.Outdated();  // their counters have changed
  return true;
}

bool BgpRepair::AskAndPublish(Connections& connections) {
  node_status_.Note(Part::kBgp, sessions_.Ask(connections));
  const bool frontend_changed = frontend_.Look(connections, sessions_.all());
  if (frontend_changed) node_status_.SetFrontend(frontend_.seen());
  // Settles after asking, because a leaf may owe its End-of-RIB.
  remotes_.Settle(deps_.now());
  return Publish(frontend_changed);
}

bool BgpRepair::Publish(bool changed) {
  changed = sessions_.TakeChanged() || changed;
  return publisher_.Publish(sessions_, feeds_, changed);
}

void BgpRepair::FeedOpened(const std::string& vrf) {
  log::Info("bgpd pushes what it learns{}{}", vrf.empty() ? "" : " in VRF ", vrf);
  feeds_.Opened(vrf);
  sessions_.Outdated();
  node_status_.Note(Part::kBgpFeed, feeds_.health());
}

void BgpRepair::FeedClosed(const std::string& why, const std::string& vrf) {
  log::Info("bgpd pushes no more{}{}: {}", vrf.empty() ? "" : " in VRF ", vrf, why);
  feeds_.Closed(vrf);
  sessions_.Outdated();
}

void BgpRepair::Pushed(const bmp::Message& message, const std::string& vrf) {
  AskWho(message, vrf);
  if (feeds_.Take(message, vrf)) sessions_.Outdated();
}

// Only bgpd knows on which interface a peer comes up: it may be a leaf that raild has not seen yet, or one that looks like a leaf. Its routes
// follow at once, so raild asks now. The instance of a tenant on a rail has no other session.
void BgpRepair::AskWho(const bmp::Message& message, const std::string& vrf) {
  // The sessions of rails are unnumbered, so their peers have link-local addresses.
  if (message.kind != bmp::Message::Kind::kPeerUp || !message.peer.address.is_link_local()) return;
  if (!vrf.empty() && remotes_.IsLeaf(vrf, message.peer)) return;
  Connections connections(deps_.openers(config_), After(kRoundLimit));
  const Status asked = sessions_.Read(connections);
  if (!asked)
    log::Warning("{} comes up, and whose it is is not known: {}", message.peer.ToString(),
                 asked.error().message);
}

}  // namespace rail::engine
