// raild's sweep, on a thread of its own: an undo may wait for IPAM, for bgpd or for a device.
//
// Use:      SweepWorker worker(config, deps, std::move(store), node_status, [] { ... });
//           RAIL_TRY(worker.Open());  worker.Start();   worker.Soon();   worker.Stop();
// Threads:  Soon any thread; `swept` is called on the worker's
// Owns:     its thread and its connection to the record
#pragma once

#include <functional>
#include <memory>

#include "cmd/raild/worker.h"
#include "lib/engine/sweep.h"

namespace rail::raild {

class SweepWorker {
 public:
  // `swept`: after a sweep that has undone something.
  SweepWorker(const config::NodeConfig& config, const engine::Deps& deps, std::unique_ptr<state::Store> store,
              engine::NodeStatus& node_status, std::function<void()> swept);

  Status Open() { return worker_.Open(); }
  void Start();  // call it when every worker is open: they call each other
  void Stop() { worker_.Stop(); }
  event::Loop& loop() { return worker_.loop(); }
  // Sweeps soon, because something that an undo may have waited for is right again.
  void Soon();

 private:
  void Run();

  const std::unique_ptr<state::Store> store_;
  engine::Sweeper sweeper_;
  const std::function<void()> swept_;
  bool scheduled_ = false;
  Worker worker_;  // last: its thread ends first
};

}  // namespace rail::raild
