#include "cmd/raild/daemon.h"

#include <unistd.h>

#include <csignal>

#include "cmd/raild/api/hardware.h"
#include "cmd/raild/api/tls.h"
#include "cmd/raild/new_config.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/config/changes.h"
#include "lib/engine/attach/tenant_addresses.h"
#include "lib/preflight/check_node.h"

namespace rail::raild {
namespace {

// An editor writes a file in several steps, and an installer several files.
constexpr std::chrono::milliseconds kGatherConfig{100};
// The doctor looks back over a minute: a reading of ten seconds ago does, too.
constexpr std::chrono::milliseconds kCountersWait{200};

Result<std::vector<std::string>> LacksOf(const config::NodeConfig& config, const engine::Deps& deps,
                                         const std::string& sysfs) {
  RAIL_ASSIGN(const auto netlink, deps.openers(config).netlink());
  return preflight::CheckNode(config, *netlink, sriov::Sysfs(sysfs));
}

// `runs`: what raild runs by, and goes on by instead of cutting pods off. One that starts has no other file (nullptr): a tenant whose VLAN
// has changed below its pods is cut off, the others are not. A record that cannot be read keeps no raild from its work.
Status KeepsPods(const config::NodeConfig& config, const engine::Deps& deps, const config::NodeConfig* runs) {
  const auto store = deps.open_store();
  if (!store) return {};
  const auto all = (*store)->List();
  if (!all) return {};
  RAIL_TRY(engine::KeepsMode(config, *all, **store));
  return runs == nullptr ? Status() : engine::KeepsVlans(config, *runs, *all, **store);
}

engine::NodeIdentity Identity() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) name[0] = '\0';
  return {name, RAILCNI_VERSION, UnixMs()};
}

}  // namespace

Daemon::Daemon(config::NodeConfig config, engine::Deps deps, config::Paths paths, Stores stores,
               event::WakeSocket wakeups, std::unique_ptr<event::Loop> loop, const Supervisor& supervisor)
    : config_(std::move(config)),
      deps_(WithTenants(std::move(deps))),
      paths_(std::move(paths)),
      wakeups_(std::move(wakeups)),
      loop_(std::move(loop)),
      node_status_(config_, Identity(), views_),
      publisher_(std::move(stores.for_publisher), node_status_),
      sweep_(config_, deps_, std::move(stores.for_sweep), node_status_,
             {.undone = [this] { RecordChanged(); }, .devices = [this] { bgp_.DevicesChanged(); }}),
      switch_(config_, deps_, std::move(stores.for_switch), node_status_,
              {.right_again = [this] { sweep_.Soon(); }, .moved = [this] { bgp_.TenantsMoved(); }}),
      bgp_(config_, deps_, std::move(stores.for_bgp), node_status_,
           {.learned = [this] { switch_.Learned(); }, .right_again = [this] { sweep_.Soon(); }}),
      tenants_worker_(config_, paths_, node_status_, tenants_, [this] { switch_.TenantsChanged(); }),
      uplinks_(config_, deps_, node_status_,
               [this](const engine::UplinkNews& news) { bgp_.UplinksChanged(news); }),
      qos_(config_, deps_, node_status_),
      rates_(config_, deps_, std::move(stores.for_rates), node_status_),
      ports_(config_, views_, paths_.sysfs),
      inspector_(config_, paths_, deps_, views_, UnixMs, inspect::kAnswerTime, RealHardware(paths_),
                 [this] { return ports_.sampler().Fresh(After(kCountersWait)); }),
      metrics_(config_, paths_, inspector_, views_, ports_.sampler()),
      reports_(config_, paths_, views_, [this] { return inspector_.Requests(); }),
      supervisor_(supervisor),
      good_rails_(config_, engine::ReadGoodRails(paths_.good_rails_file), Clock::now()) {}

Result<std::unique_ptr<Daemon>> Daemon::Start(config::NodeConfig config, engine::Deps deps,
                                              const config::Paths& paths, const Supervisor& supervisor,
                                              const Status& file) {
  Stores stores;
  RAIL_ASSIGN(stores.for_switch, deps.open_store());
  RAIL_ASSIGN(stores.for_bgp, deps.open_store());
  RAIL_ASSIGN(stores.for_sweep, deps.open_store());
  RAIL_ASSIGN(stores.for_rates, deps.open_store());
  RAIL_ASSIGN(stores.for_publisher, deps.open_store());
  RAIL_TRY(KeepsPods(config, deps, nullptr));
  RAIL_ASSIGN_AS(event::WakeSocket wakeups, event::WakeSocket::Bind(paths.wake_socket),
                 "does another raild run on this node?");
  RAIL_ASSIGN(std::unique_ptr<event::Loop> loop, event::Loop::Open());
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(config), std::move(deps), paths, std::move(stores),
                                            std::move(wakeups), std::move(loop), supervisor));
  RAIL_TRY(daemon->publisher_.Open());
  RAIL_TRY(daemon->sweep_.Open());
  RAIL_TRY(daemon->switch_.Open());
  RAIL_TRY(daemon->bgp_.Open());
  RAIL_TRY(daemon->tenants_worker_.Open());
  RAIL_TRY(daemon->uplinks_.Open());
  RAIL_TRY(daemon->qos_.Open());
  RAIL_TRY(daemon->rates_.Open());
  RAIL_TRY(daemon->ports_.Open());
  RAIL_TRY(daemon->metrics_.Open());
  RAIL_TRY(daemon->reports_.Open());
  RAIL_TRY(daemon->watching_.Open());
  RAIL_TRY(daemon->WatchSignalsAndWakeups());
  daemon->WatchConfig(file);
  RAIL_ASSIGN(daemon->server_,
              Server::Start({daemon->views_, daemon->config_, daemon->inspector_, daemon->ports_.sampler()},
                            paths.socket));
  return daemon;
}

Status Daemon::WatchSignalsAndWakeups() {
  RAIL_TRY(loop_->OnSignal({SIGTERM, SIGINT}, [this] {
    ends_ = true;
    loop_->Stop();
  }));
  return loop_->Watch(wakeups_.fd(), [this] {
    const event::Wakeups wakeups = wakeups_.Drain();
    for (const event::PluginRun& run : wakeups.runs) metrics_.Count(run);
    for (const event::PodFailure& failure : wakeups.failures) reports_.Failed(failure);
    if (wakeups.record_changed) RecordChanged();
  });
}

void Daemon::WatchConfig(const Status& file) {
  auto watch = event::FileWatch::Open(paths_.config_file);
  Status watched;
  if (watch) {
    config_watch_.emplace(std::move(*watch));
    watched = loop_->Watch(config_watch_->fd(), [this] {
      if (!config_watch_->Drain() || std::exchange(config_look_is_due_, true)) return;
      loop_->After(kGatherConfig, [this] { LookAtConfig(); });
    });
  } else {
    watched = tl::make_unexpected(watch.error());
  }
  if (!watched) log::Warning("{}; a change of it needs a restart of raild", watched.error().message);
  if (!file) return node_status_.Note(engine::Part::kNodeFile, file);  // as it is, it was tried already
  loop_->Post([this] { LookAtConfig(); });  // it may have changed before it was watched
}

void Daemon::LookAtConfig() {
  config_look_is_due_ = false;
  NewConfig now = JudgeConfig(
      config_, config::Load(paths_.config_file),
      {.tls = CheckTlsFiles,
       .keeps = [this](const config::NodeConfig& config) { return KeepsPods(config, deps_, &config_); },
       .lacks = [this](const config::NodeConfig& config) { return LacksOf(config, deps_, paths_.sysfs); }});
  node_status_.Note(engine::Part::kNodeFile, now.problem);
  if (now.take) {
    next_ = std::move(now.take);
    return loop_->Stop();
  }
  node_status_.Changed();
}

engine::Deps Daemon::WithTenants(engine::Deps deps) {
  deps.tenants = [this] { return tenants_.Current(); };
  return deps;
}

void Daemon::RecordChanged() {
  switch_.RecordChanged();
  bgp_.RecordChanged();
  rates_.RecordChanged();
  node_status_.Changed();
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
  watchdog_->Add("the sweep", sweep_.loop(), &sweep_.pulse());
  watchdog_->Add("uplinks", uplinks_.loop());
  watchdog_->Add("priorities of uplinks", qos_.loop());
  watchdog_->Add("rates", rates_.loop());
  watchdog_->Add("counters", ports_.loop());
  watchdog_->Add("publishing", publisher_.loop());
  watching_.Start([this] { watchdog_->Begin(); });
}

std::optional<config::NodeConfig> Daemon::Run() {
  log::Info("started: {} rails", config_.rails.size());
  publisher_.Start();
  uplinks_.Start();
  switch_.Start();
  bgp_.Start();
  sweep_.Start();
  tenants_worker_.Start();
  qos_.Start();
  rates_.Start();
  ports_.Start();
  metrics_.Start();
  reports_.Start();
  BeginToWatch();
  loop_->Run();
  watching_.Stop();  // a thread that ends does not hang
  if (ends_) supervisor_.Tell("STOPPING=1");
  for (event::Loop* part : {&switch_.loop(), &bgp_.loop(), &sweep_.loop()})
    part->Stop();  // all at once: each may be in a round
  tenants_worker_.Stop();
  uplinks_.Stop();
  qos_.Stop();
  rates_.Stop();
  bgp_.Stop();
  switch_.Stop();
  sweep_.Stop();
  metrics_.Stop();
  ports_.Stop();
  reports_.Stop();
  publisher_.Stop();
  server_->Stop();
  // A signal may have come meanwhile. The loop takes descriptors between two pieces of work that are posted one by the other.
  loop_->Post([this] { loop_->Post([this] { loop_->Stop(); }); });
  loop_->Run();
  if (!ends_) return std::move(next_);
  log::Info("stopped; rules, ports and announcements stay");
  return std::nullopt;
}

}  // namespace rail::raild
