// What both uplinks of a loaded pair have counted: pauses of each priority (PFC), congestion (ECN, CNP), discards. How one uplink is set up is
// the doctor's to judge (lib/qos); here the two ends are compared, and what moves under load.
//
// Use:      const auto before = CountUplinks(stage);   ...load...   PausesBetween(from, to, before, CountUplinks(stage), true);
// Threads:  CountUplinks asks nodes by a thread each; the others are pure
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cmd/railctl/accept/book.h"
#include "cmd/railctl/accept/stage.h"

namespace rail::accept {

// By node; as raild has read them within the last second.
using UplinkCounters = std::map<std::string, Result<v1::ListCountersResponse>>;
UplinkCounters CountUplinks(const Stage& stage);

// An uplink before and after a load.
struct UplinkLoad {
  std::string node;
  v1::PortCounters before;
  v1::PortCounters after;
};
// Its verdict and what was seen. `by_verbs`: the load was RoCE, of which nothing may be discarded.
Attempt JudgePauses(const std::vector<UplinkLoad>& ends, bool by_verbs);

// Of the uplinks of the nodes of two pods on their rail.
Attempt PausesBetween(const Port& from, const Port& to, const UplinkCounters& before,
                      const UplinkCounters& after, bool by_verbs);

}  // namespace rail::accept
