#include "cmd/raild/daemon.h"

#include <unistd.h>

#include <chrono>
#include <csignal>

#include "lib/base/log.h"

namespace rail::raild {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kAuditInterval{30};
constexpr seconds kBgpPollInterval{1};
constexpr milliseconds kGather{5};

engine::NodeIdentity Identity() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) name[0] = '\0';
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {name, RAILCNI_VERSION, std::chrono::duration_cast<milliseconds>(now).count()};
}

}  // namespace

Daemon::Daemon(config::NodeConfig config, engine::Deps deps, std::unique_ptr<state::Store> store, poke::PokeSocket pokes)
    : config_(std::move(config)),
      deps_(std::move(deps)),
      store_(std::move(store)),
      pokes_(std::move(pokes)),
      reconciler_(config_, deps_, *store_, board_, Identity()) {}

Result<std::unique_ptr<Daemon>> Daemon::Start(config::NodeConfig config, engine::Deps deps, const config::Paths& paths) {
  RAIL_ASSIGN(std::unique_ptr<state::Store> store, deps.open_store());
  RAIL_ASSIGN_AS(poke::PokeSocket pokes, poke::PokeSocket::Bind(paths.poke_socket), "does another raild run on this node?");
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(config), std::move(deps), std::move(store), std::move(pokes)));
  RAIL_ASSIGN(daemon->server_, Server::Start(daemon->board_, paths.socket));
  return daemon;
}

void Daemon::Run() {
  log::Info("started: {} rails, remotes by polling bgpd once a second (the BMP collector is not built yet)",
            config_.rails.size());
  loop_.OnSignal({SIGTERM, SIGINT}, [this] { loop_.Stop(); });
  loop_.Watch(pokes_.fd(), [this] {
    pokes_.Drain();
    Soon(record_scheduled_, [this] { reconciler_.RecordChanged(); });
  });
  WatchLinks();
  WatchOvsdb();
  EveryAudit();
  EverySecond();
  loop_.Run();
  log::Info("stopped; rules, ports and announcements stay");
  server_->Stop();
}

void Daemon::Soon(bool& scheduled, std::function<void()> round) {
  if (scheduled) return;
  scheduled = true;
  loop_.After(kGather, [&scheduled, round = std::move(round)] {
    scheduled = false;
    round();
  });
}

void Daemon::WatchLinks() {
  auto opened = netlink::Monitor::Open();
  if (!opened) {
    log::Warning("link events: {}; links and neighbours are looked at once a second and every 30 s", opened.error().message);
    return;
  }
  links_ = std::move(*opened);
  loop_.Watch(links_->fd(), [this] {
    const auto changes = links_->Receive();
    if (!changes || changes->overrun || !changes->links.empty()) {
      Soon(audit_scheduled_, [this] { reconciler_.Audit(); });
    } else if (changes->neighbours_changed) {
      Soon(neighbours_scheduled_, [this] { reconciler_.PollBgp(); });
    }
  });
}

// ovsdb-server may be down or come back: then the connection is made again with the next second's round, and a new one
// always begins with an audit.
void Daemon::WatchOvsdb() {
  auto opened = ovs::DbMonitor::Open(config_.ovs.db_socket, After(seconds(1)));
  if (!opened) return;  // the audit says so
  ovsdb_ = std::move(*opened);
  loop_.Watch(ovsdb_->fd(), [this] {
    const auto changed = ovsdb_->Receive();
    if (!changed) {
      log::Warning("ovsdb: {}", changed.error().message);
      loop_.Unwatch(ovsdb_->fd());
      ovsdb_.reset();
    }
    if (!changed || *changed) Soon(audit_scheduled_, [this] { reconciler_.Audit(); });
  });
  Soon(audit_scheduled_, [this] { reconciler_.Audit(); });
}

void Daemon::EverySecond() {
  if (!ovsdb_) WatchOvsdb();
  reconciler_.PollBgp();
  loop_.After(kBgpPollInterval, [this] { EverySecond(); });
}

void Daemon::EveryAudit() {
  reconciler_.Audit();
  loop_.After(kAuditInterval, [this] { EveryAudit(); });
}

}  // namespace rail::raild
