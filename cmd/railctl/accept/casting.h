// Which networks and nodes of a cluster take part, from the lists of its API server.
//
// Use:      RAIL_ASSIGN(const auto networks, ChooseNetworks(definitions, {}));
//           RAIL_ASSIGN(const auto nodes, ChooseNodes(list, networks, {}));
// Threads:  pure functions
// Source:   Network Plumbing Working Group, "Network Custom Resource Definition" 1.3; core/v1 NodeStatus (allocatable)
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lib/base/error.h"

namespace rail::accept {

constexpr size_t kTenants = 2;  // a pod of each on every node

// A NetworkAttachmentDefinition with ovs-provider, as a pod's annotation and its requests name it.
struct Network {
  std::string rail;
  std::string name;      // "namespace/name"
  std::string resource;  // whose devices its pods have: "nvidia.com/rail0"
  bool operator==(const Network&) const = default;
};

// One for each rail, by rail: of `wanted` ("namespace/name"), or of all, where one in `default` comes before others. Errors: kInvalid: there is none,
// or not what is wanted; kUnsupported: one without a resource.
Result<std::vector<Network>> ChooseNetworks(const std::vector<nlohmann::json>& definitions,
                                            const std::vector<std::string>& wanted);

// Names of nodes that can take a pod of each tenant: `wanted`, or two of each unit (label railcni.io/su), and those without the label.
// Errors: kInvalid: none can; one of `wanted` cannot, and why; more than 16 have no label.
Result<std::vector<std::string>> ChooseNodes(const std::vector<nlohmann::json>& nodes,
                                             const std::vector<Network>& networks,
                                             const std::vector<std::string>& wanted);

}  // namespace rail::accept
