// raild's HTTP port: serves the metrics on a thread of its own, and looks at Open vSwitch and the NICs on another when somebody asks.
//
// Use:      MetricsWorker metrics(config, paths, inspector, views);  RAIL_TRY(metrics.Open());  metrics.Start();  metrics.Stop();
// Threads:  Open, Start, Stop: the owner's
// Owns:     its sockets and threads; without an address in node.json, none
//
// A page is there within about a second, whatever hangs, with the last look that has ended and its age (switch_looks.h).
#pragma once

#include <memory>
#include <mutex>

#include "cmd/raild/metrics/page.h"
#include "cmd/raild/metrics/switch_looks.h"
#include "cmd/raild/worker.h"
#include "lib/config/node_config.h"
#include "lib/http/server.h"
#include "lib/inspect/inspector.h"

namespace rail::raild {

class MetricsWorker {
 public:
  // A switch that hangs is found out while the page waits; the list of flows may take longer than the page.
  static constexpr std::chrono::milliseconds kCountsTime{700};
  static constexpr std::chrono::seconds kFlowsTime{10};

  MetricsWorker(const config::NodeConfig& config, const config::Paths& paths,
                const inspect::Inspector& inspector, const engine::ViewPublisher& views)
      : config_(config), paths_(paths), inspector_(inspector), views_(views) {}

  // Errors: the address cannot be listened on, naming the key.
  Status Open();
  void Start();
  void Stop();

  // A plugin has ended. Any thread.
  void Count(const event::PluginRun& ran);

 private:
  http::Page PageOf(std::string_view path);
  Measured Look();

  const config::NodeConfig& config_;
  const config::Paths& paths_;
  const inspect::Inspector& inspector_;
  const engine::ViewPublisher& views_;

  inspect::DropTotals drops_;  // the looking thread's
  std::mutex mutex_;
  CniRuns runs_;

  SwitchLooks looks_{{.post = [this](std::function<void()> look) { looker_.loop().Post(std::move(look)); },
                      .take = [this] { return Look(); }}};

  Worker serving_;
  Worker looker_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace rail::raild
