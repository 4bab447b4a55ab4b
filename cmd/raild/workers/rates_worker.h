// The thread that keeps the rates of tenants, where node.json says "rates", and gives back what an earlier node.json wanted.
//
// Use:      RatesWorker rates(config, deps, store, node_status);
//           RAIL_TRY(rates.Open());  rates.Start();  rates.RecordChanged();  ...  rates.Stop();
// Threads:  Start and Stop by one; RecordChanged: any
// Owns:     its connection to the record, and devlink's events
#pragma once

#include <memory>

#include "cmd/raild/workers/worker.h"
#include "lib/engine/repair/rates.h"
#include "lib/netlink/devlink_monitor.h"

namespace rail::raild {

class RatesWorker {
 public:
  RatesWorker(const config::NodeConfig& config, const engine::Deps& deps, std::unique_ptr<state::Store> store,
              engine::NodeStatus& node_status)
      : store_(std::move(store)), node_status_(node_status), rates_(config, deps, *store_, node_status) {}

  Status Open() { return worker_.Open(); }
  void Start();
  void Stop() { worker_.Stop(); }
  void RecordChanged();
  event::Loop& loop() { return worker_.loop(); }

 private:
  enum class Kind { kLook };  // of rounds
  void Look();
  void LookSoon(Clock::duration gather);
  void WatchDevlink();

  const std::unique_ptr<state::Store> store_;
  engine::NodeStatus& node_status_;
  engine::RatesRepair rates_;
  std::unique_ptr<netlink::DevlinkMonitor> devlink_;
  Worker worker_;  // last: its thread ends first
};

}  // namespace rail::raild
