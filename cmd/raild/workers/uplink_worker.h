// The thread that follows the carrier of the rails' uplinks, and hears what their other ends say of themselves (LLDP): it asks the kernel
// only, so that nothing else keeps it waiting.
//
// Use:      UplinkWorker uplinks(config, deps, node_status, [&](const auto& news) { bgp.UplinksChanged(news); });
//           RAIL_TRY(uplinks.Open());  uplinks.Start();  ...  uplinks.Stop();
// Threads:  Start and Stop by one; `changed` is called on the worker's own thread
// Owns:     the kernel's link events, and a socket for LLDP on each uplink
#pragma once

#include <functional>

#include "cmd/raild/workers/neighbour_watch.h"
#include "cmd/raild/workers/worker.h"
#include "lib/engine/repair/uplink.h"

namespace rail::raild {

class UplinkWorker {
 public:
  UplinkWorker(const config::NodeConfig& config, const engine::Deps& deps, engine::NodeStatus& node_status,
               std::function<void(const engine::UplinkNews&)> changed)
      : node_status_(node_status),
        watch_(config, deps, node_status),
        changed_(std::move(changed)),
        neighbours_(config, node_status) {}

  Status Open() { return worker_.Open(); }
  // Reads the carriers once before it returns, so that they are known to whoever announces next.
  void Start();
  void Stop() { worker_.Stop(); }
  event::Loop& loop() { return worker_.loop(); }

 private:
  void Look();
  void WatchLinks();

  engine::NodeStatus& node_status_;
  engine::UplinkWatch watch_;
  std::function<void(const engine::UplinkNews&)> changed_;
  NeighbourWatch neighbours_;
  Worker worker_;  // last: its thread ends first
};

}  // namespace rail::raild
