// The labels of this node's Node object that tell schedulers where it is in the fabric.
//
// Use:      const Labels wanted = LabelsOf(config.topology, place);
//           client.Ask(NodeRequest("n1"));  RAIL_ASSIGN(Labels there, ReadLabels(answer.body));
//           if (auto patch = LabelsRequest("n1", ours, wanted, there)) client.Ask(*patch);
// Threads:  pure functions
// Source:   core/v1 Node; RFC 7386 (merge patch: null removes); label values: Kubernetes, "Labels and Selectors"; tiers: Topograph,
//           docs/reference/node-labels.md
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "lib/config/topology.h"
#include "lib/kubernetes/client.h"

namespace rail::kubernetes {

using Labels = std::map<std::string, std::string>;  // by key

// What is known of this node; "": not known.
struct Place {
  std::string unit;
  std::map<std::string, std::string> leaves;  // by rail: its router id
};

// The unit, each rail's leaf ("l-" and a hash of its router id) and, where node.json asks for them, tiers: 0 the leaf of the first rail, 1
// the unit. What is not known has no label.
Labels LabelsOf(const config::Topology& topology, const Place& place);

Request NodeRequest(const std::string& node);
// metadata.labels of a Node. Errors: kInvalid.
Result<Labels> ReadLabels(std::string_view node);

// What makes of `there` what is wanted; nullopt: nothing differs. `ours`: what raild has written before; what is not wanted any more goes,
// while it still has that value. A tier that somebody else writes stays as it is. `wrote`: what is ours afterwards.
std::optional<Request> LabelsRequest(const std::string& node, const config::Topology& topology, const Labels& ours,
                                     const Labels& wanted, const Labels& there, Labels& wrote);

// {} when there is no such file, or it is not one of ours.
Labels ReadOurLabels(const std::string& path);
Status WriteOurLabels(const std::string& path, const Labels& labels);

}  // namespace rail::kubernetes
