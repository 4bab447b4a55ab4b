// raild as a whole: its workers, its API, signals, node.json and the watchdog.
//
// Use:      RAIL_ASSIGN(auto daemon, Daemon::Start(config, wire::RealDeps(), paths, supervisor, {}));
//           while (auto next = daemon->Run()) ...        // node.json has changed: a new Daemon, by the new one
// Threads:  Run holds the calling thread; gRPC has threads of its own, which read published views
// Owns:     everything that it opens
#pragma once

#include <memory>
#include <optional>

#include "cmd/raild/api/service.h"
#include "cmd/raild/new_config.h"
#include "cmd/raild/supervisor.h"
#include "cmd/raild/watchdog.h"
#include "cmd/raild/workers/workers.h"
#include "lib/config/node_config.h"
#include "lib/engine/repair/good_rails.h"
#include "lib/event/wake.h"

namespace rail::raild {

class Daemon {
 public:
  // `file`: why node.json, as it is, is not the configuration that raild runs by; {}: it is.
  // Errors: another raild runs on this node; the record cannot be opened; the API's socket or the
  //         metrics' port cannot be had.
  static Result<std::unique_ptr<Daemon>> Start(config::NodeConfig config, engine::Deps deps,
                                               const config::Paths& paths, const Supervisor& supervisor,
                                               const Status& file);
  // Until SIGTERM or SIGINT, or until node.json has changed and can be taken: then returns the new configuration. Either way every part
  // has ended when it returns; rules, ports and announcements stay.
  std::optional<config::NodeConfig> Run();

 private:
  Daemon(config::NodeConfig config, engine::Deps deps, config::Paths paths, Workers::Stores stores,
         event::WakeSocket wakeups, std::unique_ptr<event::Loop> loop, const Supervisor& supervisor);

  Status WatchSignalsAndWakeups();
  std::optional<config::NodeConfig> JudgeFile();
  // The API's list of namespaces takes the place of the file.
  engine::Deps WithTenants(engine::Deps deps);
  void BeginToWatch();
  std::string WaitsFor(engine::GoodRails& rails) const;

  const config::NodeConfig config_;
  TenantList tenants_;
  const engine::Deps deps_;
  const config::Paths paths_;
  event::WakeSocket wakeups_;
  std::unique_ptr<event::Loop> loop_;
  engine::ViewPublisher views_;
  engine::NodeStatus node_status_;
  Workers workers_;
  const Supervisor& supervisor_;
  ConfigFollower node_file_;
  bool ends_ = false;  // by a signal
  Worker watching_;
  std::optional<Watchdog> watchdog_;  // on a thread of its own: it must not hang with those that it watches
  std::unique_ptr<Server> server_;    // last: it ends first
};

}  // namespace rail::raild
