#include "cmd/raild/daemon.h"

#include <unistd.h>

#include <csignal>

#include "lib/base/clock.h"
#include "lib/base/log.h"

namespace rail::raild {
namespace {

engine::NodeIdentity Identity() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) name[0] = '\0';
  return {name, RAILCNI_VERSION, UnixMs()};
}

}  // namespace

Daemon::Daemon(config::NodeConfig config, engine::Deps deps, config::Paths paths, Stores stores,
               event::WakeSocket wakeups, std::unique_ptr<event::Loop> loop)
    : config_(std::move(config)),
      deps_(WithTenants(std::move(deps))),
      paths_(std::move(paths)),
      wakeups_(std::move(wakeups)),
      loop_(std::move(loop)),
      node_status_(config_, Identity(), views_),
      sweep_(config_, deps_, std::move(stores.for_sweep), node_status_,
             {.undone = [this] { RecordChanged(); }, .devices = [this] { bgp_.DevicesChanged(); }}),
      switch_(config_, deps_, std::move(stores.for_switch), node_status_,
              {.right_again = [this] { sweep_.Soon(); }, .moved = [this] { bgp_.TenantsMoved(); }}),
      bgp_(config_, deps_, std::move(stores.for_bgp), node_status_,
           {.learned = [this] { switch_.Learned(); }, .right_again = [this] { sweep_.Soon(); }}),
      tenants_worker_(config_, paths_, node_status_, tenants_, [this] { switch_.TenantsChanged(); }),
      uplinks_(config_, deps_, node_status_,
               [this](const engine::UplinkNews& news) {
                 bgp_.UplinksChanged(news);
                 switch_.Learned();  // also publishes what has changed
               }),
      inspector_(config_, paths_, deps_, views_),
      metrics_(config_, paths_, inspector_, views_),
      reports_(config_, views_),
      good_rails_(config_, engine::ReadGoodRails(paths_.good_rails_file), Clock::now()) {}

Result<std::unique_ptr<Daemon>> Daemon::Start(config::NodeConfig config, engine::Deps deps,
                                              const config::Paths& paths) {
  Stores stores;
  RAIL_ASSIGN(stores.for_switch, deps.open_store());
  RAIL_ASSIGN(stores.for_bgp, deps.open_store());
  RAIL_ASSIGN(stores.for_sweep, deps.open_store());
  RAIL_ASSIGN_AS(event::WakeSocket wakeups, event::WakeSocket::Bind(paths.wake_socket),
                 "does another raild run on this node?");
  RAIL_ASSIGN(std::unique_ptr<event::Loop> loop, event::Loop::Open());
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(config), std::move(deps), paths, std::move(stores),
                                            std::move(wakeups), std::move(loop)));
  RAIL_TRY(daemon->sweep_.Open());
  RAIL_TRY(daemon->switch_.Open());
  RAIL_TRY(daemon->bgp_.Open());
  RAIL_TRY(daemon->tenants_worker_.Open());
  RAIL_TRY(daemon->uplinks_.Open());
  RAIL_TRY(daemon->metrics_.Open());
  RAIL_TRY(daemon->reports_.Open());
  RAIL_TRY(daemon->watching_.Open());
  RAIL_TRY(daemon->WatchSignalsAndWakeups());
  RAIL_ASSIGN(daemon->server_,
              Server::Start({daemon->views_, daemon->config_, daemon->inspector_}, paths.socket));
  return daemon;
}

Status Daemon::WatchSignalsAndWakeups() {
  RAIL_TRY(loop_->OnSignal({SIGTERM, SIGINT}, [this] { loop_->Stop(); }));
  return loop_->Watch(wakeups_.fd(), [this] {
    const event::Wakeups wakeups = wakeups_.Drain();
    for (const event::PluginRun& run : wakeups.runs) metrics_.Count(run);
    for (const event::PodFailure& failure : wakeups.failures) reports_.Failed(failure);
    if (wakeups.record_changed) RecordChanged();
  });
}

engine::Deps Daemon::WithTenants(engine::Deps deps) {
  deps.tenants = [this] { return tenants_.Current(); };
  return deps;
}

void Daemon::RecordChanged() {
  switch_.RecordChanged();
  bgp_.RecordChanged();
}

std::string Daemon::WaitsForRails() {
  good_rails_.Look(*views_.Current(), Clock::now());
  if (good_rails_.TakeChanged()) {
    const Status kept = engine::WriteGoodRails(paths_.good_rails_file, good_rails_.to_keep());
    if (!kept) log::Warning("{}; after a restart no rollout waits for these rails", kept.error().message);
  }
  return good_rails_.waits_for();
}

// The threads that serve gRPC and HTTP need no watch: who asks them sees whether they answer.
void Daemon::BeginToWatch() {
  const auto tell = [this](const Health& health) {
    if (!health.hung.empty()) log::Error("{}", health.hung);
    if (health.started) {
      if (health.waits_for.empty()) {
        log::Info("ready");
      } else {
        log::Info("not ready: {}", health.waits_for);
      }
    }
    server_->Tell(health);
  };
  watchdog_.emplace(watching_.loop(), supervisor_, tell, [this] { return WaitsForRails(); });
  watchdog_->Add("signals and wakeups", *loop_);
  watchdog_->Add("Open vSwitch", switch_.loop(), &switch_.pulse());
  watchdog_->Add("bgpd", bgp_.loop());
  watchdog_->Add("the sweep", sweep_.loop());
  watchdog_->Add("uplinks", uplinks_.loop());
  watching_.Start([this] { watchdog_->Begin(); });
}

void Daemon::Run() {
  log::Info("started: {} rails", config_.rails.size());
  uplinks_.Start();
  switch_.Start();
  bgp_.Start();
  sweep_.Start();
  tenants_worker_.Start();
  metrics_.Start();
  reports_.Start();
  BeginToWatch();
  loop_->Run();
  watching_.Stop();  // a thread that ends does not hang
  supervisor_.Tell("STOPPING=1");
  for (event::Loop* part : {&switch_.loop(), &bgp_.loop(), &sweep_.loop()})
    part->Stop();  // all at once: each may be in a round
  tenants_worker_.Stop();
  uplinks_.Stop();
  bgp_.Stop();
  switch_.Stop();
  sweep_.Stop();
  metrics_.Stop();
  reports_.Stop();
  log::Info("stopped; rules, ports and announcements stay");
  server_->Stop();
}

}  // namespace rail::raild
