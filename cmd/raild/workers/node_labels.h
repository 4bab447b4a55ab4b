// Keeps the labels of this node's Node object that tell schedulers which leaves and unit it has.
//
// Use:      NodeLabels labels(config.topology.labels, paths.labels_file);
//           if (labels.wanted()) labels.Look(client, node, PlaceOf(view), now);      RemoveLabels(client, node, file)  without raild
// Threads:  one
// Owns:     the file that says which labels are ours
#pragma once

#include <optional>
#include <string>

#include "lib/base/clock.h"
#include "lib/config/node_config.h"
#include "lib/engine/view.h"
#include "lib/kubernetes/backoff.h"
#include "lib/kubernetes/labels.h"

namespace rail::raild {

kubernetes::Place PlaceOf(const engine::NodeView& view);

class NodeLabels {
 public:
  NodeLabels(const std::optional<config::TopologyLabels>& keys, std::string file,
             const kubernetes::Backoff& backoff);

  // node.json asks for labels, or there are some of before that have to go.
  bool wanted() const { return keys_ || !ours_.empty(); }

  // Makes the labels right when two looks agree that the place has changed, and looks at them again every 4 to 6 minutes. While the unit is not
  // known they stay as they are. nullopt: nothing was to be done, or it is not time to try again. Errors: of the API server; of the file
  // system. May be repeated.
  std::optional<Status> Look(kubernetes::Client& client, const std::string& node,
                             const kubernetes::Place& place, Deadline now);

 private:
  Status Change(kubernetes::Client& client, const std::string& node, const kubernetes::Place& place);

  const std::optional<config::TopologyLabels>& keys_;
  const std::string file_;
  kubernetes::Backoff backoff_;
  kubernetes::OurLabels ours_;
  kubernetes::Place seen_;                 // at the last look
  std::optional<kubernetes::Place> told_;  // as the labels say
  Deadline again_{};                       // when to look at them though nothing has changed
  Deadline next_{};                        // not before
};

// Takes away the labels of which the file says that they are ours. Errors: as Look.
Status RemoveLabels(kubernetes::Client& client, const std::string& node, const std::string& file);

}  // namespace rail::raild
