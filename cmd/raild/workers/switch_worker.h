// raild's watch over Open vSwitch and the host's links: what it listens to, and the round that each event starts.
//
// Use:      SwitchWorker worker(config, deps, std::move(store), node_status, [] { ... });
//           RAIL_TRY(worker.Open());  worker.Start();   worker.RecordChanged();   worker.Learned();   worker.Stop();
// Threads:  RecordChanged and Learned any thread; `right_again` is called on the worker's
// Owns:     its thread, its connection to the record, its subscriptions
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "cmd/raild/watchdog.h"
#include "cmd/raild/workers/bridge_watch.h"
#include "cmd/raild/workers/worker.h"
#include "lib/engine/repair/switch.h"
#include "lib/ovs/db_monitor.h"

namespace rail::raild {

class SwitchWorker {
 public:
  struct Events {
    std::function<void()> right_again;  // a round has repaired what had failed before
    std::function<void()> moved;        // attachments are in other tenants
  };
  SwitchWorker(const config::NodeConfig& config, const engine::Deps& deps,
               std::unique_ptr<state::Store> store, engine::NodeStatus& node_status, Events events);

  Status Open() { return worker_.Open(); }
  void Start();  // call it when every worker is open: they call each other
  void Stop() { worker_.Stop(); }
  event::Loop& loop() { return worker_.loop(); }
  const Pulse& pulse() const { return pulse_; }  // beats after each rail
  void RecordChanged();
  void Learned();
  void TenantsChanged();

 private:
  // Rounds, each gathered by itself.
  enum class Kind { kAudit, kOvsdb, kOvsdbBack, kRules, kRepresentors, kRecord, kLearned, kTenants };
  void WatchLinks();
  void WatchOvsdb();
  void RulesChanged();
  void AuditSoon();
  void Round(void (engine::SwitchRepair::*round)());

  const config::NodeConfig& config_;
  const std::unique_ptr<state::Store> store_;
  Pulse pulse_;
  BridgeWatch bridges_;
  engine::SwitchRepair repair_;
  const Events events_;
  std::optional<ovs::DbMonitor> ovsdb_;
  Worker worker_;  // last: its thread ends first
};

}  // namespace rail::raild
