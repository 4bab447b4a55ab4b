#include "cmd/raild/metrics/page.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "lib/base/utf8.h"

namespace rail::raild {
namespace {

using counters::Both;
using counters::Counts;
using counters::Direction;
using metrics::Exposition;

std::string_view Name(Direction direction) {
  return direction == Direction::kSent ? "sent" : "received";
}

void AddUplink(Exposition& page, const counters::PortView& port, bool bursts_on) {
  const std::string& rail = port.port->rail;
  if (port.line_rate != 0) page.Add(metrics::kUplinkLineRate, {rail}, port.line_rate);
  for (const Direction direction : counters::kDirections) {
    const Counts& counts = port.now.traffic[direction];
    const std::string_view name = Name(direction);
    page.Add(metrics::kUplinkBytes, {rail, name}, counts.bytes);
    page.Add(metrics::kUplinkPackets, {rail, name}, counts.packets);
    page.Add(metrics::kUplinkDropped, {rail, name}, counts.dropped);
    page.Add(metrics::kUplinkErrors, {rail, name}, counts.errors);
    if (bursts_on) page.Add(metrics::kUplinkPeak, {rail, name}, port.peak[direction]);
  }
  if (!port.now.pfc) return;
  for (size_t i = 0; i < port.now.pfc->requests.size(); ++i) {
    const std::string priority = std::to_string(i);
    page.Add(metrics::kUplinkPauses, {rail, priority, "sent"}, port.now.pfc->requests[i]);
    page.Add(metrics::kUplinkPauses, {rail, priority, "received"}, port.now.pfc->indications[i]);
  }
}

void AddTenant(Exposition& page, const counters::TenantKey& key, const Both<Counts>& both) {
  const std::string tenant = ValidUtf8(key.second);
  for (const Direction direction : counters::kDirections) {
    const Counts& counts = both[direction];
    const std::string_view name = Name(direction);
    page.Add(metrics::kTenantBytes, {key.first, tenant, name}, counts.bytes);
    page.Add(metrics::kTenantPackets, {key.first, tenant, name}, counts.packets);
    page.Add(metrics::kTenantDropped, {key.first, tenant, name}, counts.dropped);
    if (counts.slow_packets) page.Add(metrics::kTenantSlow, {key.first, tenant, name}, *counts.slow_packets);
  }
}

void AddPods(Exposition& page, const std::vector<counters::PortView>& ports) {
  std::vector<const counters::PortView*> pods;
  for (const counters::PortView& port : ports) {
    if (!port.port->is_uplink()) pods.push_back(&port);
  }
  std::ranges::sort(pods, {}, [](const counters::PortView* each) { return each->port->attachment; });
  if (pods.size() > kMostPodSeries) pods.resize(kMostPodSeries);
  for (const counters::PortView* each : pods) {
    const counters::Port& port = *each->port;
    for (const Direction direction : counters::kDirections) {
      page.Add(metrics::kPodBytes,
               {port.rail, ValidUtf8(port.tenant), ValidUtf8(port.pod_namespace), ValidUtf8(port.pod),
                ValidUtf8(port.ifname), std::to_string(port.attachment), Name(direction)},
               each->now.traffic[direction].bytes);
    }
  }
}

}  // namespace

void AddPorts(Exposition& page, const PortsPart& ports) {
  for (const counters::PortView& port : ports.view.ports) {
    if (port.port->is_uplink()) AddUplink(page, port, ports.view.bursts_on);
  }
  for (const auto& [key, both] : ports.view.tenants) AddTenant(page, key, both);
  if (ports.view.bursts_on) {
    for (const auto& [key, totals] : ports.view.bursts) {
      const auto& [rail, is_uplink, direction] = key;
      const std::string_view of = is_uplink ? "uplink" : "pods";
      page.Add(metrics::kBursts, {rail, of, Name(direction)}, totals.bursts);
      page.AddSeconds(metrics::kBurstSeconds, {rail, of, Name(direction)},
                      std::chrono::duration<double>(totals.above).count());
    }
  }
  if (ports.pods) AddPods(page, ports.view.ports);
}

}  // namespace rail::raild
