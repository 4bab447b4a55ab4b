#include "cmd/raild/daemon.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>

#include "lib/base/log.h"

namespace rail::raild {
namespace {

engine::NodeIdentity Identity() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) name[0] = '\0';
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {name, RAILCNI_VERSION, std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
}

}  // namespace

Daemon::Daemon(config::NodeConfig config, engine::Deps deps, inspect::Outside outside, config::Paths paths,
               Stores stores, event::WakeSocket wakeups, std::unique_ptr<event::Loop> loop)
    : config_(std::move(config)),
      deps_(std::move(deps)),
      paths_(std::move(paths)),
      wakeups_(std::move(wakeups)),
      loop_(std::move(loop)),
      node_status_(config_, Identity(), views_),
      sweep_(config_, deps_, std::move(stores.for_sweep), node_status_, [this] { switch_.RecordChanged(); }),
      switch_(config_, deps_, std::move(stores.for_switch), node_status_, [this] { sweep_.Soon(); }),
      bgp_(config_, deps_, std::move(stores.for_bgp), node_status_,
           {.learned = [this] { switch_.Learned(); }, .right_again = [this] { sweep_.Soon(); }}),
      uplinks_(config_, deps_, node_status_,
               [this](const engine::UplinkNews& news) {
                 bgp_.UplinksChanged(news);
                 switch_.Learned();  // also publishes what has changed
               }),
      inspector_(config_, paths_, deps_, std::move(outside), views_),
      metrics_(config_, paths_, inspector_, views_),
      watchdog_(*loop_, supervisor_) {}

Result<std::unique_ptr<Daemon>> Daemon::Start(config::NodeConfig config, engine::Deps deps,
                                              inspect::Outside outside, const config::Paths& paths) {
  Stores stores;
  RAIL_ASSIGN(stores.for_switch, deps.open_store());
  RAIL_ASSIGN(stores.for_bgp, deps.open_store());
  RAIL_ASSIGN(stores.for_sweep, deps.open_store());
  RAIL_ASSIGN_AS(event::WakeSocket wakeups, event::WakeSocket::Bind(paths.wake_socket),
                 "does another raild run on this node?");
  RAIL_ASSIGN(std::unique_ptr<event::Loop> loop, event::Loop::Open());
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(config), std::move(deps), std::move(outside), paths,
                                            std::move(stores), std::move(wakeups), std::move(loop)));
  RAIL_TRY(daemon->sweep_.Open());
  RAIL_TRY(daemon->switch_.Open());
  RAIL_TRY(daemon->bgp_.Open());
  RAIL_TRY(daemon->uplinks_.Open());
  RAIL_TRY(daemon->metrics_.Open());
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
    if (wakeups.record_changed) switch_.RecordChanged();
  });
}

void Daemon::Run() {
  log::Info("started: {} rails", config_.rails.size());
  uplinks_.Start();
  switch_.Start();
  bgp_.Start();
  sweep_.Start();
  metrics_.Start();
  const std::array parts = {&switch_.loop(), &bgp_.loop(), &sweep_.loop()};
  for (event::Loop* part : parts) watchdog_.Add(*part);
  watchdog_.Begin();
  loop_->Run();
  supervisor_.Tell("STOPPING=1");
  for (event::Loop* part : parts) part->Stop();  // all at once: each may be in a round
  uplinks_.Stop();
  bgp_.Stop();
  switch_.Stop();
  sweep_.Stop();
  metrics_.Stop();
  log::Info("stopped; rules, ports and announcements stay");
  server_->Stop();
}

}  // namespace rail::raild
