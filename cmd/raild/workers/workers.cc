#include "cmd/raild/workers/workers.h"

#include "cmd/raild/api/hardware.h"
#include "lib/base/clock.h"

namespace rail::raild {
namespace {

// The doctor looks back over a minute: a reading of ten seconds ago does, too.
constexpr std::chrono::milliseconds kCountersWait{200};

}  // namespace

Workers::Workers(const config::NodeConfig& config, const engine::Deps& deps, const config::Paths& paths,
                 Stores stores, engine::NodeStatus& node_status, engine::ViewPublisher& views,
                 TenantList& tenants)
    : node_status_(node_status),
      publisher_(std::move(stores.for_publisher), node_status, [this] { kubelet_.ViewChanged(); }),
      sweep_(config, deps, std::move(stores.for_sweep), node_status,
             {.undone = [this] { RecordChanged(); }, .devices = [this] { bgp_.DevicesChanged(); }}),
      switch_(config, deps, std::move(stores.for_switch), node_status,
              {.right_again = [this] { sweep_.Soon(); }, .moved = [this] { bgp_.TenantsMoved(); }}),
      bgp_(config, deps, std::move(stores.for_bgp), node_status,
           {.learned = [this] { switch_.Learned(); }, .right_again = [this] { sweep_.Soon(); }}),
      tenants_(config, paths, node_status, tenants, [this] { switch_.TenantsChanged(); }),
      uplinks_(config, deps, node_status,
               [this](const engine::UplinkNews& news) { bgp_.UplinksChanged(news); }),
      qos_(config, deps, node_status),
      rates_(config, deps, std::move(stores.for_rates), node_status),
      ports_(config, views, paths.sysfs),
      inspector_(config, paths, deps, views, UnixMs, inspect::kAnswerTime, RealHardware(paths),
                 [this] { return ports_.sampler().Fresh(After(kCountersWait)); }),
      metrics_(config, paths, inspector_, views, ports_.sampler()),
      reports_(config, paths, views, [this] { return inspector_.Requests(); }),
      kubelet_(config, deps, paths, views, node_status) {}

Status Workers::Open() {
  RAIL_TRY(publisher_.Open());
  RAIL_TRY(sweep_.Open());
  RAIL_TRY(switch_.Open());
  RAIL_TRY(bgp_.Open());
  RAIL_TRY(tenants_.Open());
  RAIL_TRY(uplinks_.Open());
  RAIL_TRY(qos_.Open());
  RAIL_TRY(rates_.Open());
  RAIL_TRY(ports_.Open());
  RAIL_TRY(metrics_.Open());
  RAIL_TRY(kubelet_.Open());
  return reports_.Open();
}

void Workers::Start() {
  publisher_.Start();
  kubelet_.Start();
  uplinks_.Start();
  switch_.Start();
  bgp_.Start();
  sweep_.Start();
  tenants_.Start();
  qos_.Start();
  rates_.Start();
  ports_.Start();
  metrics_.Start();
  reports_.Start();
}

void Workers::Stop() {
  for (event::Loop* part : {&switch_.loop(), &bgp_.loop(), &sweep_.loop()})
    part->Stop();  // all at once: each may be in a round
  tenants_.Stop();
  uplinks_.Stop();
  qos_.Stop();
  rates_.Stop();
  bgp_.Stop();
  switch_.Stop();
  sweep_.Stop();
  metrics_.Stop();
  ports_.Stop();
  reports_.Stop();
  publisher_.Stop();
  kubelet_.Stop();
}

void Workers::Take(const event::Wakeups& wakeups) {
  for (const event::PluginRun& run : wakeups.runs) metrics_.Count(run);
  for (const event::PodFailure& failure : wakeups.failures) reports_.Failed(failure);
  if (wakeups.record_changed) RecordChanged();
}

void Workers::RecordChanged() {
  switch_.RecordChanged();
  bgp_.RecordChanged();
  rates_.RecordChanged();
  node_status_.Changed();
}

void Workers::AddTo(Watchdog& watchdog) {
  watchdog.Add("Open vSwitch", switch_.loop(), &switch_.pulse());
  watchdog.Add("bgpd", bgp_.loop());
  watchdog.Add("the sweep", sweep_.loop(), &sweep_.pulse());
  watchdog.Add("uplinks", uplinks_.loop());
  watchdog.Add("priorities of uplinks", qos_.loop());
  watchdog.Add("rates", rates_.loop());
  watchdog.Add("counters", ports_.loop());
  watchdog.Add("publishing", publisher_.loop());
}

}  // namespace rail::raild
