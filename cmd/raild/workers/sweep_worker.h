// raild's sweep, on a thread of its own: an undo may wait for IPAM, for bgpd or for a device.
//
// Use:      SweepWorker worker(config, deps, std::move(store), node_status, {.undone = ..., .devices = ...});
//           RAIL_TRY(worker.Open());  worker.Start();   worker.Soon();   worker.Stop();
// Threads:  Soon any thread; the events are called on the worker's
// Owns:     its thread, its connection to the record, the kernel's link events
#pragma once

#include <functional>
#include <memory>

#include "cmd/raild/watchdog.h"
#include "cmd/raild/workers/worker.h"
#include "lib/engine/repair/sweep.h"

namespace rail::raild {

class SweepWorker {
 public:
  struct Events {
    std::function<void()> undone;   // attachments are gone from the record
    std::function<void()> devices;  // a pod has lost its device, or has it back
  };
  SweepWorker(const config::NodeConfig& config, const engine::Deps& deps, std::unique_ptr<state::Store> store,
              engine::NodeStatus& node_status, Events events);

  Status Open() { return worker_.Open(); }
  void Start();  // call it when every worker is open: they call each other
  void Stop() { worker_.Stop(); }
  event::Loop& loop() { return worker_.loop(); }
  const Pulse& pulse() const { return pulse_; }  // beats after each attachment
  // Sweeps soon, because something that an undo may have waited for is right again.
  void Soon();

 private:
  // Rounds, each gathered by itself.
  enum class Kind { kSweep, kLinks };
  void Run();
  void WatchLinks();

  Pulse pulse_;
  const std::unique_ptr<state::Store> store_;
  engine::Sweeper sweeper_;
  const Events events_;
  Worker worker_;  // last: its thread ends first
};

}  // namespace rail::raild
