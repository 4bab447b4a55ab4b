// The part of the metrics' page that comes of the counters of uplinks and pods.
//
// Use:      AddPorts(page, ports);
// Threads:  pure functions
#pragma once

#include "cmd/raild/metrics/exposition.h"
#include "cmd/raild/metrics/page.h"

namespace rail::raild {

// With `metrics.pods` so many interfaces of pods are on the page, those with the lowest ids.
inline constexpr size_t kMostPodSeries = 1000;

void AddPorts(metrics::Exposition& page, const PortsPart& ports);

}  // namespace rail::raild
