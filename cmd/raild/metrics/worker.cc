#include "cmd/raild/metrics/worker.h"

#include "lib/base/log.h"

namespace rail::raild {

Status MetricsWorker::Open() {
  if (config_.metrics.listen.empty()) return {};
  RAIL_TRY(serving_.Open());
  RAIL_TRY(looker_.Open());
  RAIL_ASSIGN_AS(server_,
                 http::Server::Listen(config_.metrics.listen, serving_.loop(),
                                      [this](std::string_view path) { return PageOf(path); }),
                 "metrics.listen of node.json");
  return {};
}

void MetricsWorker::Start() {
  if (!server_) return;
  looker_.Start([] {});
  serving_.Start([this] { log::Info("metrics: http://{}/metrics", config_.metrics.listen); });
}

void MetricsWorker::Stop() {
  serving_.Stop();
  looker_.Stop();
  server_.reset();
}

void MetricsWorker::Count(const event::PluginRun& ran) {
  const std::lock_guard lock(mutex_);
  runs_.Count(ran);
}

std::vector<v1::PluginRuns> MetricsWorker::Runs() {
  const std::lock_guard lock(mutex_);
  return runs_.ToMessages();
}

http::Page MetricsWorker::PageOf(std::string_view path) {
  if (path == "/healthz") return HealthPage(*views_.Current());
  if (path == "/metrics") {
    const auto look = looks_.Latest();
    const auto counted = counters_.Fresh(After(kCountersTime));
    const std::lock_guard lock(mutex_);
    return MetricsPage(*views_.Current(), look.get(), Clock::now(), runs_,
                       {.view = *counted, .pods = config_.metrics.pods});
  }
  if (path == "/") return {.body = "raild: /metrics /healthz\n"};
  return {.status = 404, .body = "there are /metrics and /healthz\n"};
}

Measured MetricsWorker::Look() {
  Measured measured;
  measured.sample = inspector_.Sample(kCountsTime, kFlowsTime);
  drops_.Add(measured.sample);
  measured.drops = drops_.totals();
  for (const config::Rail& rail : config_.rails)
    measured.roce[rail.name] = inspect::ReadRoceCounters(paths_.sysfs, rail.pf);
  return measured;
}

}  // namespace rail::raild
