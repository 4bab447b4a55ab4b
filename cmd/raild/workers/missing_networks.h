// Which pods have a rail's device from the kubelet and no interface for it: the events that tell of them.
//
// Use:      MissingNetworks missing;   for (const kubernetes::EventSpec& event : missing.Look(requests, "n1")) ...   // every kEvery
// Threads:  one
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "lib/inspect/requests.h"
#include "lib/kubernetes/report.h"

namespace rail::raild {

class MissingNetworks {
 public:
  // The kubelet's API has no event for what it gives out.
  static constexpr std::chrono::seconds kEvery{30};

  // Of pods of which the look before has said the same: an ADD follows the kubelet by a second or two.
  std::vector<kubernetes::EventSpec> Look(const std::vector<inspect::Request>& requests,
                                          const std::string& node);

 private:
  std::set<std::tuple<std::string, std::string, std::string>> seen_;  // namespace, pod, rail
};

}  // namespace rail::raild
