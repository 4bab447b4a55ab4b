// raild's repair of the links of one rail's representors, and of their guards. A representor that is set down cuts its pod off, and
// neither Open vSwitch nor the pod says so.
//
// Use:      RepresentorRepair representors(rail, node_status);
//           RAIL_TRY(representors.Repair(connections, store, record));
//           if (representors.Concerned(changes.links)) ...    // an event of one of them
// Threads:  one
// Owns:     nothing: rail and node_status must outlive it
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/engine/repair/node_status.h"
#include "lib/guard/guard.h"
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

  // Sets those of ready attachments up that are down, and guards those that lack their guard. A representor that is gone is not this
  // part's matter. Errors: of the first one that cannot be set up, guarded or looked at; the others are looked at all the same.
  Status Repair(Connections& connections, state::Store& store, const Record& record);
  // The guards forget whom their pods have not spoken to for kIdle; at most once in that time.
  Status Forget(guard::Guard& guard, const Record& record, Deadline now);
  bool Concerned(const std::vector<int>& links) const;

 private:
  // `on`: calls for each ready attachment of the rail; the first error is the answer.
  Status ForEach(const Record& record, const std::function<Status(const state::Attachment&)>& on) const;
  Result<bool> Guarded(Connections& connections, state::Store& store,
                       const state::Attachment& attachment) const;

  static constexpr std::chrono::minutes kIdle{
      2};  // longer than Open vSwitch keeps an idle megaflow (max-idle)

  const config::Rail& rail_;
  NodeStatus& node_status_;
  std::set<int> links_;  // indexes of those that the last Repair has seen
  std::optional<Deadline> forgets_;
};

}  // namespace rail::engine
