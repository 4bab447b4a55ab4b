// raild's HTTP port: serves the metrics on a thread of its own, and looks at Open vSwitch and the NICs on another when somebody asks.
//
// Use:      MetricsWorker metrics(config, paths, inspector, board);  RAIL_TRY(metrics.Open());  metrics.Start();  metrics.Stop();
// Threads:  Open, Start, Stop: the owner's
// Owns:     its sockets and threads; without an address in node.json, none
//
// A page is there within about a second, whatever hangs: what has not been looked at by then is left out of it. Who asks again
// within kFresh sees the same look, so asking often costs the switch nothing.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "cmd/raild/metrics_page.h"
#include "cmd/raild/worker.h"
#include "lib/config/node_config.h"
#include "lib/http/server.h"
#include "lib/inspect/inspector.h"

namespace rail::raild {

class MetricsWorker {
 public:
  static constexpr std::chrono::milliseconds kLook{800};   // the look at Open vSwitch
  static constexpr std::chrono::milliseconds kWait{1000};  // for it and all else
  static constexpr std::chrono::seconds kFresh{5};

  MetricsWorker(const config::NodeConfig& config, const config::Paths& paths,
                const inspect::Inspector& inspector, const engine::Board& board)
      : config_(config), paths_(paths), inspector_(inspector), board_(board) {}

  // Errors: the address cannot be listened on, naming the key.
  Status Open();
  void Start();
  void Stop();

  // A plugin has ended. Any thread.
  void Count(const poke::Ran& ran);

 private:
  struct Look {
    Clock::time_point ended;
    Measured measured;
  };

  http::Page PageOf(std::string_view path);
  std::shared_ptr<const Look> LookSoon();
  void TakeLook();

  const config::NodeConfig& config_;
  const config::Paths& paths_;
  const inspect::Inspector& inspector_;
  const engine::Board& board_;

  inspect::DropTotals drops_;  // the looking thread's
  std::mutex mutex_;
  std::condition_variable looked_;
  bool looking_ = false;
  std::shared_ptr<const Look> last_;
  CniRuns runs_;

  Worker serving_;
  Worker looker_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace rail::raild
