// raild at work: the events that it waits for, and what it does at each.
//
// Use:      RAIL_ASSIGN(auto daemon, Daemon::Start(config, wire::RealDeps(), paths));  daemon->Run();
// Threads:  Run holds the calling thread until SIGTERM or SIGINT; gRPC has threads of its own, which read published views
// Owns:     everything that it opens
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "cmd/raild/service.h"
#include "lib/config/node_config.h"
#include "lib/engine/reconcile.h"
#include "lib/event/loop.h"
#include "lib/netlink/monitor.h"
#include "lib/ovs/db_monitor.h"
#include "lib/poke/poke.h"

namespace rail::raild {

class Daemon {
 public:
  // Errors: another raild runs on this node; the record cannot be opened; the API's socket cannot be made.
  static Result<std::unique_ptr<Daemon>> Start(config::NodeConfig config, engine::Deps deps,
                                               const config::Paths& paths);
  void Run();

 private:
  Daemon(config::NodeConfig config, engine::Deps deps, std::unique_ptr<state::Store> store,
         poke::PokeSocket pokes, std::unique_ptr<event::Loop> loop);

  Status WatchSignalsAndPokes();
  void WatchLinks();
  void WatchOvsdb();
  void EveryPoll();
  // Several events that come together are answered by one round.
  void Soon(bool& scheduled, std::function<void()> round, std::chrono::milliseconds gather);

  const config::NodeConfig config_;
  const engine::Deps deps_;
  const std::unique_ptr<state::Store> store_;
  poke::PokeSocket pokes_;
  engine::Board board_;
  engine::Reconciler reconciler_;
  std::unique_ptr<event::Loop> loop_;
  std::unique_ptr<netlink::Monitor> links_;
  std::optional<ovs::DbMonitor> ovsdb_;
  bool bridges_scheduled_ = false;
  bool ovsdb_scheduled_ = false;
  bool record_scheduled_ = false;
  bool neighbours_scheduled_ = false;
  std::unique_ptr<Server> server_;  // last: it ends first
};

}  // namespace rail::raild
