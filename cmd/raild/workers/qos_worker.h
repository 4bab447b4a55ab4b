// The thread that follows how the uplinks treat priorities, where node.json says "lossless".
//
// Use:      QosWorker qos(config, deps, node_status);
//           RAIL_TRY(qos.Open());  qos.Start();  ...  qos.Stop();
// Threads:  Start and Stop by one
// Owns:     the kernel's events of links and priorities
#pragma once

#include "cmd/raild/workers/worker.h"
#include "lib/engine/repair/lossless.h"

namespace rail::raild {

class QosWorker {
 public:
  QosWorker(const config::NodeConfig& config, const engine::Deps& deps, engine::NodeStatus& node_status)
      : node_status_(node_status), lossless_(config, deps, node_status) {}

  Status Open() { return worker_.Open(); }
  void Start();
  void Stop() { worker_.Stop(); }
  event::Loop& loop() { return worker_.loop(); }

 private:
  enum class Kind { kLook };  // of rounds
  void Look();
  void WatchLinks();

  engine::NodeStatus& node_status_;
  engine::LosslessRepair lossless_;
  Worker worker_;  // last: its thread ends first
};

}  // namespace rail::raild
