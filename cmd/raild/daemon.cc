#include "cmd/raild/daemon.h"

#include <unistd.h>

#include <csignal>

#include "cmd/raild/check_node.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/engine/attach/tenant_addresses.h"

namespace rail::raild {
namespace {

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

Daemon::Daemon(config::NodeConfig config, engine::Deps deps, config::Paths paths, Workers::Stores stores,
               event::WakeSocket wakeups, std::unique_ptr<event::Loop> loop, const Supervisor& supervisor)
    : config_(std::move(config)),
      deps_(WithTenants(std::move(deps))),
      paths_(std::move(paths)),
      wakeups_(std::move(wakeups)),
      loop_(std::move(loop)),
      node_status_(config_, Identity(), views_),
      workers_(config_, deps_, paths_, std::move(stores), node_status_, views_, tenants_),
      supervisor_(supervisor),
      node_file_(paths_.config_file, *loop_, [this] { return JudgeFile(); }) {}

Result<std::unique_ptr<Daemon>> Daemon::Start(config::NodeConfig config, engine::Deps deps,
                                              const config::Paths& paths, const Supervisor& supervisor,
                                              const Status& file) {
  Workers::Stores stores;
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
  RAIL_TRY(daemon->workers_.Open());
  RAIL_TRY(daemon->watching_.Open());
  RAIL_TRY(daemon->WatchSignalsAndWakeups());
  daemon->node_file_.Begin(file.has_value());
  if (!file) daemon->node_status_.Note(engine::Part::kNodeFile, file);  // as it is, it was tried already
  Workers& workers = daemon->workers_;
  RAIL_ASSIGN(daemon->server_, Server::Start({daemon->views_, daemon->config_, workers.inspector(),
                                              workers.sampler(), [&workers] { return workers.runs(); }},
                                             paths.socket));
  return daemon;
}

Status Daemon::WatchSignalsAndWakeups() {
  RAIL_TRY(loop_->OnSignal({SIGTERM, SIGINT}, [this] {
    ends_ = true;
    loop_->Stop();
  }));
  return loop_->Watch(wakeups_.fd(), [this] { workers_.Take(wakeups_.Drain()); });
}

std::optional<config::NodeConfig> Daemon::JudgeFile() {
  NewConfig now = JudgeConfig(
      config_, config::Load(paths_.config_file),
      {.tls = CheckTlsFiles,
       .keeps = [this](const config::NodeConfig& config) { return KeepsPods(config, deps_, &config_); },
       .lacks = [this](const config::NodeConfig& config) { return LacksOf(config, deps_, paths_.sysfs); }});
  node_status_.Note(engine::Part::kNodeFile, now.problem);
  if (!now.take) node_status_.Changed();
  return std::move(now.take);
}

engine::Deps Daemon::WithTenants(engine::Deps deps) {
  deps.tenants = [this] { return tenants_.Current(); };
  return deps;
}

std::string Daemon::WaitsFor(engine::GoodRails& rails) const {
  rails.Look(*views_.Current(), Clock::now());
  if (rails.TakeChanged()) {
    const Status kept = engine::WriteGoodRails(paths_.good_rails_file, rails.to_keep());
    if (!kept) log::Warning("{}; after a restart no rollout waits for these rails", kept.error().message);
  }
  return rails.waits_for();
}

// The threads that serve gRPC need no watch: who asks them sees whether they answer.
void Daemon::BeginToWatch() {
  const auto tell = [this](const Health& health) {
    if (!health.hung.empty()) log::Error("{}", health.hung);
    if (health.started) log::Info("{}", health.ready() ? "ready" : "not ready: " + health.waits_for);
    server_->Tell(health);
  };
  engine::GoodRails rails(config_, engine::ReadGoodRails(paths_.good_rails_file), Clock::now());
  watchdog_.emplace(watching_.loop(), supervisor_, tell,
                    [this, rails = std::move(rails)]() mutable { return WaitsFor(rails); });
  watchdog_->Add("signals and wakeups", *loop_);
  workers_.AddTo(*watchdog_);
  watching_.Start([this] { watchdog_->Begin(); });
}

std::optional<config::NodeConfig> Daemon::Run() {
  log::Info("started: {} rails", config_.rails.size());
  workers_.Start();
  BeginToWatch();
  loop_->Run();
  watching_.Stop();  // a thread that ends does not hang
  if (ends_) supervisor_.Tell("STOPPING=1");
  workers_.Stop();
  server_->Stop();
  loop_->RunReady();  // a signal may have come meanwhile
  if (!ends_) return node_file_.Take();
  log::Info("stopped; rules, ports and announcements stay");
  return std::nullopt;
}

}  // namespace rail::raild
