// Which pods have a rail's device from the kubelet and no interface for it: the events that tell of them.
//
// Use:      MissingNetworks missing(ask);   for (const kubernetes::EventSpec& event : missing.Look("n1", Clock::now())) ...
// Threads:  one
#pragma once

#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/inspect/requests.h"
#include "lib/kubernetes/report.h"

namespace rail::raild {

class MissingNetworks {
 public:
  // `requests`: as Inspector::Requests; waits for the kubelet, whose API has no event for what it gives out.
  explicit MissingNetworks(std::function<std::vector<inspect::Request>()> requests)
      : requests_(std::move(requests)) {}

  // Of pods of which the look before has said the same: an ADD follows the kubelet by a second or two. Looks every 30 s, and has nothing
  // to say in between.
  std::vector<kubernetes::EventSpec> Look(const std::string& node, Deadline now);

 private:
  const std::function<std::vector<inspect::Request>()> requests_;
  Deadline due_{};
  std::set<std::tuple<std::string, std::string, std::string>> seen_;  // namespace, pod, rail
};

}  // namespace rail::raild
