// The nodes of a cluster as the API server tells of them, and what their configurations must not have in common.
//
// Use:      RAIL_ASSIGN(const std::vector<NodeFacts> nodes, ReadNodes("nodes.json"));   // kubectl get nodes -o json
//           for (const std::string& problem : Collisions(resolved)) ...
// Threads:  pure functions but for the files
// Source:   Kubernetes API v1, Node and NodeList: metadata.name, metadata.labels, status.addresses
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/config/cluster_file.h"

namespace rail::config {

// The Nodes of a list, or the one of a single object. The address is the first InternalIP, which kubelet gives to pods as
// status.hostIP. Errors: kInvalid, of a document that is neither; of the file.
Result<std::vector<NodeFacts>> ReadNodes(const std::string& path);

// Sentences about AS numbers and router ids that several nodes have.
std::vector<std::string> Collisions(const std::map<std::string, Resolved>& by_node);

}  // namespace rail::config
