#include "cmd/raild/workers/missing_networks.h"

#include <utility>

namespace rail::raild {
namespace {

constexpr std::chrono::seconds kEvery{30};

}  // namespace

std::vector<kubernetes::EventSpec> MissingNetworks::Look(const std::string& node, Deadline now) {
  std::vector<kubernetes::EventSpec> events;
  if (now < due_) return events;
  due_ = now + kEvery;
  const auto before = std::exchange(seen_, {});
  for (const inspect::Request& one : requests_()) {
    const std::string what = inspect::WithoutNetwork(one);
    if (what.empty()) continue;
    const auto key = *seen_.emplace(one.pod_namespace, one.pod, one.rail).first;
    if (!before.contains(key)) continue;
    events.push_back({.kind = "Pod",
                      .object_namespace = one.pod_namespace,
                      .object = one.pod,
                      .uid = {},  // the kubelet does not say it here
                      .reason = "RailWithoutNetwork",
                      .message = what + ": " + inspect::NetworkRemedy(one),
                      .warning = true,
                      .host = node});
  }
  return events;
}

}  // namespace rail::raild
