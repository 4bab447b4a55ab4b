// raild's repair of the links of one rail's representors. A representor that is set down cuts its pod off, and neither
// Open vSwitch nor the pod says so.
//
// Use:      RepresentorRepair representors(rail, node_status);
//           RAIL_TRY(representors.Repair(*host, record));
//           if (representors.Concerned(changes.links)) ...    // an event of one of them
// Threads:  one
// Owns:     nothing: rail and node_status must outlive it
#pragma once

#include <set>
#include <string>
#include <vector>

#include "lib/engine/repair/node_status.h"
#include "lib/netlink/netlink.h"

namespace rail::engine {

// What keeps the link from carrying packets: "rep0 is set down", "rep0 has no carrier"; "" nothing.
std::string RepresentorProblem(const netlink::Link& link);
// What to do about it; raild sets it up by itself and cannot make a carrier.
std::string RepresentorRemedy(const std::string& representor, bool up);

class RepresentorRepair {
 public:
  RepresentorRepair(const config::Rail& rail, NodeStatus& node_status)
      : rail_(rail), node_status_(node_status) {}

  // Sets those of ready attachments up that are down. A representor that is gone is not this part's matter. Errors: of the first
  // one that cannot be set up or looked at; the others are looked at all the same.
  Status Repair(netlink::Netlink& host, const Record& record);
  bool Concerned(const std::vector<int>& links) const;

 private:
  const config::Rail& rail_;
  NodeStatus& node_status_;
  std::set<int> links_;  // indexes of those that the last Repair has seen
};

}  // namespace rail::engine
