// The labels of this node's Node object that tell schedulers where it is in the fabric.
//
// Use:      const Labels wanted = LabelsOf(*config.topology.labels, place);
//           client.Ask(NodeRequest("n1"));  RAIL_ASSIGN(const Labels there, ReadLabels(answer.body));
//           const LabelChange change = ChangeLabels("n1", ours, wanted, there, tier);   write change.ours, then send *change.request
// Threads:  pure functions
// Source:   core/v1 Node; RFC 7386 (merge patch: null removes); values: Kubernetes, "Labels and Selectors"; tiers: Topograph,
//           docs/reference/node-labels.md (0 is the nearest)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "lib/config/topology.h"
#include "lib/kubernetes/client.h"

namespace rail::kubernetes {

using Labels = std::map<std::string, std::string>;  // by key
// Values that raild has written, or is about to: until the API server has answered, a label may have the old one or the new one.
using OurLabels = std::map<std::string, std::set<std::string>>;  // by key

// What is known of this node; "": not known.
struct Place {
  std::string unit;
  std::map<std::string, std::string> leaves;  // by the rail's name: its router id
  bool operator==(const Place&) const = default;
};

// The unit, each rail's leaf ("l-" and a hash of its router id) and, where node.json names their key, two tiers: 0 the leaf of the first rail,
// 1 the unit. What is not known has no label.
Labels LabelsOf(const config::TopologyLabels& keys, const Place& place);

Request NodeRequest(const std::string& node);
// metadata.labels of a Node. Errors: kInvalid.
Result<Labels> ReadLabels(std::string_view node);

struct LabelChange {
  std::optional<Request> request;  // nothing: no label differs
  OurLabels before;                // what may be ours until it is answered: to be kept first
  OurLabels ours;                  // what is ours, once it is done
};

// What makes of `there` what is wanted. `ours`: what raild has written before; what is not wanted any more goes, while it still has such a value.
// A tier (its key begins with `tier`) that somebody else writes stays as it is.
LabelChange ChangeLabels(const std::string& node, const OurLabels& ours, const Labels& wanted,
                         const Labels& there, const std::string& tier);

// {} when there is no such file, or it is not one of ours. A key has a text, or a list of texts where it may have several.
OurLabels ReadOurLabels(const std::string& path);
// Errors: of the file system.
Status WriteOurLabels(const std::string& path, const OurLabels& labels);

}  // namespace rail::kubernetes
