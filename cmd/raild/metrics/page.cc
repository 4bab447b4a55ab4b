#include "cmd/raild/metrics/page.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "cmd/raild/api/state_messages.h"
#include "cmd/raild/metrics/document.h"
#include "lib/base/utf8.h"
#include "lib/engine/attach/tenant_rates.h"
#include "lib/inspect/trace/trace.h"

namespace rail::raild {
namespace {

using engine::NodeView;
using metrics::Exposition;

constexpr std::array<std::string_view, 3> kPlugins = {"ovs-provider", "tenant-isolation", "frr-provider"};
constexpr std::array<std::string_view, 5> kVerbs = {"ADD", "DEL", "CHECK", "GC", "STATUS"};

// Several NICs of a rail, or two tenants of one name: the smallest share and limit.
void AddRates(Exposition& page, const std::string& rail, const engine::RatesView& rates) {
  std::map<std::string, std::pair<uint64_t, uint64_t>> least;  // share and limit, by tenant
  for (const engine::TenantRateView& each : rates.tenants) {
    const auto [known, is_new] = least.try_emplace(each.tenant, each.share, each.max_mbit);
    auto& [share, max_mbit] = known->second;
    share = std::min(share, each.share);
    if (each.max_mbit != 0) max_mbit = max_mbit == 0 ? each.max_mbit : std::min(max_mbit, each.max_mbit);
  }
  for (const auto& [tenant, rate] : least) {
    page.Add(metrics::kTenantShare, {rail, ValidUtf8(tenant)}, rate.first);
    if (rate.second != 0)
      page.Add(metrics::kTenantMax, {rail, ValidUtf8(tenant)}, rate.second * engine::kBytesPerMbit);
  }
}

void AddCni(Exposition& page, const CniRuns& cni) {
  for (const auto& [key, runs] : cni.runs()) {
    page.Add(metrics::kCniSeconds, {key.plugin, key.verb}, runs.times);
    for (size_t i = 0; i < runs.parts.size(); ++i)
      page.AddSeconds(metrics::kCniPartSeconds, {key.plugin, key.verb, kPartNames[i]}, runs.parts[i]);
    page.Add(metrics::kCniFailures, {key.plugin, key.verb}, runs.failed);
  }
}

double Seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

void AddMeasured(Exposition& page, const Measured* measured, Clock::time_point now) {
  const auto told = [&](std::string inspect::SwitchSample::* problem) {
    return measured != nullptr && (measured->sample.*problem).empty();
  };
  const bool rules = told(&inspect::SwitchSample::rules_problem);
  const bool datapath = told(&inspect::SwitchSample::datapath_problem);
  const bool flows = told(&inspect::SwitchSample::flows_problem);
  page.Add(metrics::kLookSuccess, {"rules"}, rules);
  page.Add(metrics::kLookSuccess, {"datapath"}, datapath);
  page.Add(metrics::kLookSuccess, {"flows"}, flows);
  if (measured == nullptr) return;
  page.AddSeconds(metrics::kLookAge, {}, Seconds(now - measured->ended));
  page.AddSeconds(metrics::kLookDuration, {}, Seconds(measured->took));
  if (rules) {
    for (const auto& [key, count] : measured->drops) {
      page.Add(metrics::kDropped, {key.rail, inspect::TableName(key.table), ValidUtf8(key.tenant)}, count);
    }
  }
  if (datapath) {
    const ovs::DatapathCounts& counts = measured->sample.datapath;
    page.Add(metrics::kAllMegaflows, {}, counts.flows);
    page.Add(metrics::kMegaflowLimit, {}, counts.limit);
    if (counts.offloaded) page.Add(metrics::kOffloadedMegaflows, {}, *counts.offloaded);
  }
  if (flows) {
    for (const auto& [family, count] : measured->sample.masks) page.Add(metrics::kMasks, {family}, count);
    for (const auto& [of, megaflows] : measured->sample.flows) {
      const std::string tenant = ValidUtf8(of.second);
      page.Add(metrics::kMegaflows, {of.first, tenant, "hardware"}, megaflows.in_hardware);
      page.Add(metrics::kMegaflows, {of.first, tenant, "tc"}, megaflows.in_tc);
      page.Add(metrics::kMegaflows, {of.first, tenant, "software"}, megaflows.in_software);
      page.Add(metrics::kDroppingMegaflows, {of.first, tenant}, megaflows.dropping);
    }
  }
  for (const auto& [rail, counters] : measured->roce) {
    for (const inspect::RoceCounter& counter : counters)
      page.Add(metrics::kRoce, {rail, counter.name}, counter.value);
  }
}

}  // namespace

void CniRuns::Count(const event::PluginRun& ran) {
  if (std::ranges::find(kPlugins, ran.plugin) == kPlugins.end() ||
      std::ranges::find(kVerbs, ran.verb) == kVerbs.end())
    return;
  Runs& runs = runs_[{ran.plugin, ran.verb}];
  runs.times.Observe(Seconds(ran.took));
  runs.failed += ran.failed ? 1 : 0;
  for (size_t i = 0; i < ran.parts.size(); ++i)
    runs.parts[i] += std::chrono::duration<double>(ran.parts[i]).count();
}

std::vector<v1::PluginRuns> CniRuns::ToMessages() const {
  std::vector<v1::PluginRuns> all;
  for (const auto& [key, runs] : runs_) {
    v1::PluginRuns& message = all.emplace_back();
    message.set_plugin(key.plugin);
    message.set_verb(key.verb);
    message.set_runs(runs.times.count());
    message.set_failed(runs.failed);
    message.set_seconds(runs.times.sum());
    for (size_t i = 0; i < metrics::Histogram::kBounds.size(); ++i) {
      v1::PluginRuns::Bucket& bucket = *message.add_buckets();
      bucket.set_at_most(metrics::Histogram::kBounds[i]);
      bucket.set_runs(runs.times.below()[i]);
    }
  }
  return all;
}

http::Page MetricsPage(const NodeView& view, const Measured* measured, Clock::time_point now,
                       const CniRuns& cni, const PortsPart& ports) {
  Exposition page;
  const int64_t now_ms = UnixMs();
  metrics::AddDocument(page, StateOf(view, now, now_ms), now_ms);
  for (const engine::RailView& rail : view.rails) {
    if (rail.rates) AddRates(page, rail.rail.name, *rail.rates);
  }
  AddCni(page, cni);
  AddMeasured(page, measured, now);
  AddPorts(page, ports);
  return {.body = page.Text(), .type = metrics::kContentType};
}

// Whoever reaches the port reads it: the names of parts, which are metrics' labels, too, and no reason, which may name pods and addresses.
http::Page HealthPage(const NodeView& view) {
  if (view.version == 0) return {.status = 503, .body = "raild has not looked at the node yet\n"};
  http::Page page;
  for (const engine::Health& health : view.health) {
    if (!health.ok) page.body += engine::ToText(health.part) + " is not right\n";
  }
  if (page.body.empty()) return {.body = "ok\n"};
  page.body += "`railctl get node` on the node says why\n";
  page.status = 503;
  return page;
}

}  // namespace rail::raild
