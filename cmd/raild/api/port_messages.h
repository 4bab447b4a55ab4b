// Turns counters and bursts into messages; no gRPC.
//
// Use:      *response = ListCounters(*sampler.Current(), request->filter());
// Threads:  pure functions
#pragma once

#include "lib/counters/sampler.h"
#include "rail/v1/counters.pb.h"

namespace rail::raild {

v1::ListCountersResponse ListCounters(const counters::PortsView& view, const v1::PortFilter& filter);
v1::ListBurstsResponse ListBursts(const counters::Sampler& sampler, const v1::ListBurstsRequest& request,
                                  int64_t now_ms);
v1::ListBurstsResponse ToMessage(const counters::BurstList& list, const v1::ListBurstsRequest& request);

}  // namespace rail::raild
