// raild's HTTP port: serves the metrics on one thread, and looks at Open vSwitch and the NICs on another when somebody asks.
//
// Use:      MetricsWorker metrics(config, paths, inspector, views, sampler);  RAIL_TRY(metrics.Open());  metrics.Start();  metrics.Stop();
// Threads:  Open, Start, Stop: the owner's
// Owns:     its sockets and threads; none if node.json has no address
//
// Whatever hangs, a page is ready within about a second, with the last look that has ended and its age (switch_looks.h).
#pragma once

#include <memory>
#include <mutex>

#include "cmd/raild/metrics/page.h"
#include "cmd/raild/metrics/switch_looks.h"
#include "cmd/raild/workers/worker.h"
#include "lib/config/node_config.h"
#include "lib/counters/sampler.h"
#include "lib/http/server.h"
#include "lib/inspect/inspector.h"

namespace rail::raild {

class MetricsWorker {
 public:
  // kCountsTime ends before a page does, so that the page can say that the switch hangs. The list of flows may take longer.
  static constexpr std::chrono::milliseconds kCountsTime{700};
  static constexpr std::chrono::seconds kFlowsTime{10};
  static constexpr std::chrono::milliseconds kCountersTime{200};  // for a reading of the counters

  MetricsWorker(const config::NodeConfig& config, const config::Paths& paths,
                const inspect::Inspector& inspector, const engine::ViewPublisher& views,
                const counters::Sampler& counters)
      : config_(config), paths_(paths), inspector_(inspector), views_(views), counters_(counters) {}

  // Errors: the address cannot be listened on; the message names the key in node.json.
  Status Open();
  void Start();
  void Stop();

  // Counts a plugin's run. Any thread.
  void Count(const event::PluginRun& ran);
  // What was counted. Any thread.
  std::vector<v1::PluginRuns> Runs();

 private:
  http::Page PageOf(std::string_view path);
  Measured Look();

  const config::NodeConfig& config_;
  const config::Paths& paths_;
  const inspect::Inspector& inspector_;
  const engine::ViewPublisher& views_;
  const counters::Sampler& counters_;

  inspect::DropTotals drops_;  // used only by the thread that looks
  std::mutex mutex_;
  CniRuns runs_;

  SwitchLooks looks_{{.post = [this](std::function<void()> look) { looker_.loop().Post(std::move(look)); },
                      .take = [this] { return Look(); }}};

  Worker serving_;
  Worker looker_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace rail::raild
