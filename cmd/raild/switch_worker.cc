#include "cmd/raild/switch_worker.h"

#include "lib/base/log.h"

namespace rail::raild {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kAuditInterval{30};
// ovsdb-server that is down is asked for so often: connect(2) on its socket costs nothing.
constexpr milliseconds kReconnect{250};
// A poke or a link asks for an answer soon. OVSDB also changes with every ADD, in the middle of its chain: what matters there (a
// port or bridge that somebody took away) can wait until the chain has ended.
constexpr milliseconds kGather{10};
constexpr milliseconds kGatherOvsdb{100};

}  // namespace

SwitchWorker::SwitchWorker(const config::NodeConfig& config, const engine::Deps& deps,
                           std::unique_ptr<state::Store> store, engine::Picture& picture,
                           std::function<void()> right_again)
    : config_(config),
      store_(std::move(store)),
      repair_(config, deps, *store_, picture),
      right_again_(std::move(right_again)) {}

void SwitchWorker::Start() {
  worker_.Start([this] {
    WatchLinks();
    Round(&engine::SwitchRepair::Audit);
    WatchOvsdb();
    worker_.loop().Every(kAuditInterval, [this] { Round(&engine::SwitchRepair::Audit); });
    worker_.loop().Every(kReconnect, [this] {
      if (!ovsdb_) WatchOvsdb();
    });
  });
}

void SwitchWorker::RecordChanged() {
  worker_.loop().Post([this] {
    worker_.Soon(record_scheduled_, [this] { Round(&engine::SwitchRepair::RecordChanged); }, kGather);
  });
}

void SwitchWorker::Learned() {
  worker_.loop().Post(
      [this] { worker_.Soon(learned_scheduled_, [this] { Round(&engine::SwitchRepair::Learned); }, {}); });
}

void SwitchWorker::Round(void (engine::SwitchRepair::*round)()) {
  const bool broken = repair_.next_retry().has_value();
  (repair_.*round)();
  worker_.RetryAt(repair_.next_retry(), [this] { Round(&engine::SwitchRepair::Retry); });
  if (broken && !repair_.next_retry()) right_again_();
}

void SwitchWorker::WatchLinks() {
  auto opened = netlink::Monitor::Open();
  Status watched;
  if (opened) {
    links_ = std::move(*opened);
    watched = worker_.loop().Watch(links_->fd(), [this] {
      const auto changes = links_->Receive();
      if (!changes || changes->overrun || repair_.Concerned(changes->links)) {
        worker_.Soon(audit_scheduled_, [this] { Round(&engine::SwitchRepair::Audit); }, kGather);
      } else if (changes->neighbours_changed) {
        worker_.Soon(learned_scheduled_, [this] { Round(&engine::SwitchRepair::Learned); }, kGather);
      }
    });
  } else {
    watched = tl::make_unexpected(opened.error());
  }
  if (!watched) log::Warning("link events: {}; links are looked at every 30 s only", watched.error().message);
}

// ovsdb-server may be down or come back: a new connection always begins with a look at everything.
void SwitchWorker::WatchOvsdb() {
  auto opened = ovs::DbMonitor::Open(config_.ovs.db_socket, After(seconds(1)));
  if (!opened) return;  // the round says so
  ovsdb_.emplace(std::move(*opened));
  const auto look = [this] {
    worker_.Soon(ovsdb_scheduled_, [this] { Round(&engine::SwitchRepair::Audit); }, kGatherOvsdb);
  };
  const Status watched = worker_.loop().Watch(ovsdb_->fd(), [this, look] {
    const auto changed = ovsdb_->Receive();
    if (!changed) {
      log::Warning("ovsdb events: {}", changed.error().message);
      worker_.loop().Unwatch(ovsdb_->fd());
      ovsdb_.reset();
    }
    if (!changed || *changed) look();
  });
  if (!watched) {
    log::Warning("ovsdb events: {}", watched.error().message);
    ovsdb_.reset();
    return;
  }
  look();
}

}  // namespace rail::raild
