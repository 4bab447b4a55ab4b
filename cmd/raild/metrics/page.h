// The pages of raild's HTTP port: its metrics, and the health of the node. No I/O.
//
// Use:      http::Page page = MetricsPage(*views.Current(), measured.get(), Clock::now(), runs, {*sampler.Current()});
// Threads:  pure functions
// Source:   cmd/raild/metrics/README.md (what each metric says)
#pragma once

#include <array>
#include <compare>
#include <map>
#include <string>
#include <vector>

#include "cmd/raild/metrics/exposition.h"
#include "cmd/raild/metrics/histogram.h"
#include "lib/counters/sampler.h"
#include "lib/engine/view.h"
#include "lib/event/wake.h"
#include "lib/http/server.h"
#include "lib/inspect/roce.h"
#include "lib/inspect/sample.h"
#include "rail/v1/node.pb.h"

namespace rail::raild {

// The result of a look at Open vSwitch and the NICs.
struct Measured {
  inspect::SwitchSample sample;
  std::map<inspect::DropTotals::Key, uint64_t> drops;
  std::map<std::string, std::vector<inspect::RoceCounter>> roce;  // by rail
  Clock::duration took{};
  Clock::time_point ended;
};

// Counts the runs that the plugins have reported.
class CniRuns {
 public:
  struct Key {
    std::string plugin, verb;
    auto operator<=>(const Key&) const = default;
  };
  struct Runs {
    metrics::Histogram times;
    uint64_t failed = 0;
    std::array<double, kPartNames.size()> parts{};  // seconds
  };
  // Counts only plugins and verbs that exist.
  void Count(const event::PluginRun& ran);
  const std::map<Key, Runs>& runs() const { return runs_; }
  std::vector<v1::PluginRuns> ToMessages() const;

 private:
  std::map<Key, Runs> runs_;
};

// The counters of ports, and whether those of single pods belong on the page.
struct PortsPart {
  const counters::PortsView& view;
  bool pods = false;
};

// With `metrics.pods` so many interfaces of pods are on the page, those with the lowest ids.
inline constexpr size_t kMostPodSeries = 1000;
// The part of the metrics' page that comes of the counters of uplinks and pods.
void AddPorts(metrics::Exposition& page, const PortsPart& ports);

// `measured` null: no look has ended yet, so the page leaves out its metrics.
http::Page MetricsPage(const engine::NodeView& view, const Measured* measured, Clock::time_point now,
                       const CniRuns& cni, const PortsPart& ports);

// 200 when every part is right, else 503 with a line for each that is not.
http::Page HealthPage(const engine::NodeView& view);

}  // namespace rail::raild
