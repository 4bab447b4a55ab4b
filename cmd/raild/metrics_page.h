// The pages of raild's HTTP port: its metrics, and whether the node is well. No I/O.
//
// Use:      http::Page page = MetricsPage(*board.Current(), measured.get());
// Threads:  pure functions
// Source:   lib/metrics/README.md (what each metric says)
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/engine/view.h"
#include "lib/http/server.h"
#include "lib/inspect/roce.h"
#include "lib/inspect/sample.h"

namespace rail::raild {

// What has to be looked for when somebody asks.
struct Measured {
  inspect::SwitchSample sample;
  std::map<inspect::DropTotals::Key, uint64_t> drops;
  std::map<std::string, std::vector<inspect::RoceCounter>> roce;  // by rail
  double seconds = 0;                                             // how long the look took
};

// `measured` null: the look has not ended in time; what it would tell is left out.
http::Page MetricsPage(const engine::NodeView& view, const Measured* measured);

// 200 when every part is right, else 503 with a line for each that is not.
http::Page HealthPage(const engine::NodeView& view);

}  // namespace rail::raild
