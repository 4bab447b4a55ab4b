// All of raild's workers, each on a thread of its own, and how they notify each other.
//
// Use:      Workers workers(config, deps, paths, std::move(stores), node_status, views, tenants);
//           RAIL_TRY(workers.Open());  workers.AddTo(watchdog);  workers.Start();  ...  workers.Stop();
// Threads:  one; RecordChanged any
// Owns:     the workers; all others must outlive it
#pragma once

#include <memory>

#include "cmd/raild/metrics/worker.h"
#include "cmd/raild/watchdog.h"
#include "cmd/raild/workers/bgp_worker.h"
#include "cmd/raild/workers/kubelet_worker.h"
#include "cmd/raild/workers/ports_worker.h"
#include "cmd/raild/workers/publish_worker.h"
#include "cmd/raild/workers/qos_worker.h"
#include "cmd/raild/workers/rates_worker.h"
#include "cmd/raild/workers/report_worker.h"
#include "cmd/raild/workers/sweep_worker.h"
#include "cmd/raild/workers/switch_worker.h"
#include "cmd/raild/workers/tenants_worker.h"
#include "cmd/raild/workers/uplink_worker.h"
#include "lib/event/wake.h"
#include "lib/inspect/inspector.h"

namespace rail::raild {

class Workers {
 public:
  // Each thread has a connection of its own to the record.
  struct Stores {
    std::unique_ptr<state::Store> for_switch, for_bgp, for_sweep, for_rates, for_publisher;
  };
  Workers(const config::NodeConfig& config, const engine::Deps& deps, const config::Paths& paths,
          Stores stores, engine::NodeStatus& node_status, engine::ViewPublisher& views, TenantList& tenants);

  // Errors: of what each opens; the metrics' port cannot be had.
  Status Open();
  void Start();
  // Returns when every worker has ended.
  void Stop();

  // Plugins have run.
  void Take(const event::Wakeups& wakeups);
  void RecordChanged();
  // The threads that serve HTTP need no watch: who asks them sees whether they answer.
  void AddTo(Watchdog& watchdog);

  const inspect::Inspector& inspector() const { return inspector_; }
  const counters::Sampler& sampler() const { return ports_.sampler(); }
  std::vector<v1::PluginRuns> runs() { return metrics_.Runs(); }  // any thread

 private:
  engine::NodeStatus& node_status_;
  PublishWorker publisher_;
  SweepWorker sweep_;
  SwitchWorker switch_;
  BgpWorker bgp_;
  TenantsWorker tenants_;
  UplinkWorker uplinks_;
  QosWorker qos_;
  RatesWorker rates_;
  PortsWorker ports_;
  inspect::Inspector inspector_;
  MetricsWorker metrics_;
  ReportWorker reports_;
  KubeletWorker kubelet_;
};

}  // namespace rail::raild
