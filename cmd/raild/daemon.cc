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
constexpr milliseconds kBgpPollInterval{250};
// A poke or a link asks for an answer soon. OVSDB also changes with every ADD, in the middle of its chain: what matters there (a
// port or bridge that somebody took away) can wait until the chain has ended.
constexpr milliseconds kGather{10};
constexpr milliseconds kGatherOvsdb{100};

engine::NodeIdentity Identity() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) name[0] = '\0';
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {name, RAILCNI_VERSION, std::chrono::duration_cast<milliseconds>(now).count()};
}

}  // namespace

Daemon::Daemon(config::NodeConfig config, engine::Deps deps, std::unique_ptr<state::Store> store,
               poke::PokeSocket pokes, std::unique_ptr<event::Loop> loop)
    : config_(std::move(config)),
      deps_(std::move(deps)),
      store_(std::move(store)),
      pokes_(std::move(pokes)),
      reconciler_(config_, deps_, *store_, board_, Identity()),
      loop_(std::move(loop)) {}

Result<std::unique_ptr<Daemon>> Daemon::Start(config::NodeConfig config, engine::Deps deps,
                                              const config::Paths& paths) {
  RAIL_ASSIGN(std::unique_ptr<state::Store> store, deps.open_store());
  RAIL_ASSIGN_AS(poke::PokeSocket pokes, poke::PokeSocket::Bind(paths.poke_socket),
                 "does another raild run on this node?");
  RAIL_ASSIGN(std::unique_ptr<event::Loop> loop, event::Loop::Open());
  std::unique_ptr<Daemon> daemon(
      new Daemon(std::move(config), std::move(deps), std::move(store), std::move(pokes), std::move(loop)));
  RAIL_TRY(daemon->WatchSignalsAndPokes());
  RAIL_ASSIGN(daemon->server_, Server::Start(daemon->board_, paths.socket));
  return daemon;
}

Status Daemon::WatchSignalsAndPokes() {
  RAIL_TRY(loop_->OnSignal({SIGTERM, SIGINT}, [this] { loop_->Stop(); }));
  return loop_->Watch(pokes_.fd(), [this] {
    pokes_.Drain();
    Soon(record_scheduled_, [this] { reconciler_.RecordChanged(); }, kGather);
  });
}

void Daemon::Run() {
  log::Info("started: {} rails; remotes are learned by asking bgpd four times a second",
            config_.rails.size());
  WatchLinks();
  reconciler_.Audit();
  loop_->Every(kAuditInterval, [this] { reconciler_.Audit(); });
  EveryPoll();
  loop_->Every(kBgpPollInterval, [this] { EveryPoll(); });
  loop_->Run();
  log::Info("stopped; rules, ports and announcements stay");
  server_->Stop();
}

void Daemon::Soon(bool& scheduled, std::function<void()> round, std::chrono::milliseconds gather) {
  if (scheduled) return;
  scheduled = true;
  loop_->After(gather, [&scheduled, round = std::move(round)] {
    scheduled = false;
    round();
  });
}

void Daemon::WatchLinks() {
  auto opened = netlink::Monitor::Open();
  Status watched;
  if (opened) {
    links_ = std::move(*opened);
    watched = loop_->Watch(links_->fd(), [this] {
      const auto changes = links_->Receive();
      if (!changes || changes->overrun || reconciler_.Concerned(changes->links)) {
        Soon(bridges_scheduled_, [this] { reconciler_.BridgesChanged(); }, kGather);
      } else if (changes->neighbours_changed) {
        Soon(neighbours_scheduled_, [this] { reconciler_.PollBgp(); }, kGather);
      }
    });
  } else {
    watched = tl::make_unexpected(opened.error());
  }
  if (!watched) log::Warning("link events: {}; links are looked at every 30 s only", watched.error().message);
}

// ovsdb-server may be down or come back: then the connection is made again with the next poll, and a new one
// always begins with a look at everything in OVSDB.
void Daemon::WatchOvsdb() {
  auto opened = ovs::DbMonitor::Open(config_.ovs.db_socket, After(seconds(1)));
  if (!opened) return;  // the audit says so
  ovsdb_.emplace(std::move(*opened));
  const Status watched = loop_->Watch(ovsdb_->fd(), [this] {
    const auto changed = ovsdb_->Receive();
    if (!changed) {
      log::Warning("ovsdb events: {}", changed.error().message);
      loop_->Unwatch(ovsdb_->fd());
      ovsdb_.reset();
    }
    if (!changed || *changed) Soon(ovsdb_scheduled_, [this] { reconciler_.BridgesChanged(); }, kGatherOvsdb);
  });
  if (!watched) {
    log::Warning("ovsdb events: {}", watched.error().message);
    ovsdb_.reset();
    return;
  }
  Soon(ovsdb_scheduled_, [this] { reconciler_.BridgesChanged(); }, kGatherOvsdb);
}

void Daemon::EveryPoll() {
  if (!ovsdb_) WatchOvsdb();
  reconciler_.PollBgp();
}

}  // namespace rail::raild
