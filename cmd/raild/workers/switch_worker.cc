#include "cmd/raild/workers/switch_worker.h"

#include "lib/base/log.h"

namespace rail::raild {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kAuditInterval{30};
// How often to try ovsdb-server and bridges that are down: connect(2) on their sockets costs nothing.
constexpr milliseconds kReconnect{100};
// A change of a plugin or a link needs a round soon. OVSDB and the rules also change with every ADD, in the middle of its chain.
// What matters there (a port, a bridge or a rule that somebody took away) can wait until the chain has ended.
constexpr milliseconds kGather{10};
constexpr milliseconds kGatherChain{100};

engine::Deps Lending(engine::Deps deps, BridgeWatch& bridges, Pulse& pulse) {
  deps.openers = bridges.Lending(std::move(deps.openers));
  deps.step_ended = [&pulse] { pulse.Beat(); };
  return deps;
}

}  // namespace

SwitchWorker::SwitchWorker(const config::NodeConfig& config, const engine::Deps& deps,
                           std::unique_ptr<state::Store> store, engine::NodeStatus& node_status,
                           Events events)
    : config_(config),
      store_(std::move(store)),
      bridges_(config.ovs.run_dir, worker_,
               {.changed = [this] { RulesChanged(); },
                .lost = [this] { AuditSoon(); },
                .back = [this] { AuditSoon(); }}),
      repair_(config, Lending(deps, bridges_, pulse_), *store_, node_status),
      events_(std::move(events)) {}

void SwitchWorker::Start() {
  worker_.Start([this] {
    WatchLinks();
    Round(&engine::SwitchRepair::Audit);
    WatchOvsdb();
    worker_.loop().Every(kAuditInterval, [this] { Round(&engine::SwitchRepair::Audit); });
    worker_.loop().Every(kReconnect, [this] {
      if (!ovsdb_) WatchOvsdb();
      bridges_.AskForLost();
    });
  });
}

void SwitchWorker::RecordChanged() {
  worker_.loop().Post([this] {
    worker_.Soon(Kind::kRecord, [this] { Round(&engine::SwitchRepair::RecordChanged); }, kGather);
  });
}

void SwitchWorker::Learned() {
  worker_.loop().Post(
      [this] { worker_.Soon(Kind::kLearned, [this] { Round(&engine::SwitchRepair::Learned); }, {}); });
}

void SwitchWorker::TenantsChanged() {
  worker_.loop().Post(
      [this] { worker_.Soon(Kind::kTenants, [this] { Round(&engine::SwitchRepair::TenantsChanged); }, {}); });
}

void SwitchWorker::Round(void (engine::SwitchRepair::*round)()) {
  const bool broken = repair_.broken();
  (repair_.*round)();
  bridges_.TakeAll();
  worker_.RetryAt(repair_.next_retry(), [this] { Round(&engine::SwitchRepair::Retry); });
  if (repair_.TakeMoved()) events_.moved();
  if (broken && !repair_.broken()) events_.right_again();
}

void SwitchWorker::AuditSoon() {
  worker_.Soon(Kind::kAudit, [this] { Round(&engine::SwitchRepair::Audit); }, kGather);
}

void SwitchWorker::RulesChanged() {
  worker_.Soon(Kind::kRules, [this] { Round(&engine::SwitchRepair::RulesChanged); }, kGatherChain);
}

void SwitchWorker::WatchLinks() {
  worker_.FollowLinks("links are looked at every 30 s only", [this](const netlink::Changes* changes) {
    if (changes == nullptr || repair_.Concerned(changes->links)) return AuditSoon();
    if (repair_.TakeRepresentors(changes->links))
      worker_.Soon(
          Kind::kRepresentors, [this] { Round(&engine::SwitchRepair::RepairRepresentors); }, kGather);
    if (changes->neighbours_changed)
      worker_.Soon(Kind::kLearned, [this] { Round(&engine::SwitchRepair::Learned); }, kGather);
  });
}

// ovsdb-server may be down or come back. Every new connection begins with an audit of everything.
void SwitchWorker::WatchOvsdb() {
  auto opened = ovs::DbMonitor::Open(config_.ovs.db_socket, After(seconds(1)));
  if (!opened) return;  // the round reports it
  ovsdb_.emplace(std::move(*opened));
  const auto audit = [this] {
    worker_.Soon(Kind::kOvsdbBack, [this] { Round(&engine::SwitchRepair::Audit); }, kGatherChain);
  };
  const Status watched = worker_.loop().Watch(ovsdb_->fd(), [this, audit] {
    const auto changed = ovsdb_->Receive();
    if (!changed) {
      log::Warning("ovsdb events: {}", changed.error().message);
      worker_.loop().Unwatch(ovsdb_->fd());
      ovsdb_.reset();
      audit();
    } else if (*changed) {
      worker_.Soon(Kind::kOvsdb, [this] { Round(&engine::SwitchRepair::DatabaseChanged); }, kGatherChain);
    }
  });
  if (!watched) {
    log::Warning("ovsdb events: {}", watched.error().message);
    ovsdb_.reset();
    return;
  }
  audit();
}

}  // namespace rail::raild
