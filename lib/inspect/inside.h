// The inside of a pod, and its device, compared with what its ADD has made: what only a look into the pod's namespace can tell.
//
// Use:      RAIL_ASSIGN(const auto differs, LookInside(connections, rail, attachment, steps));    // {}: as ADD made it
//           LookIntoPods(facts, deps, "/run/railcni/libs", After(2s));       // all of them, for the doctor
// Threads:  any; each look works on a thread of its own inside the pod
// Source:   lib/podnet/README.md (what is in a pod, and why)
#pragma once

#include <string>
#include <vector>

#include "lib/engine/attach/verb_context.h"
#include "lib/inspect/doctor/doctor.h"

namespace rail::inspect {

// What is not as its ADD made it in the pod's namespace. raild changes nothing of it: the namespace is the pod's own, and so its
// tenant's. `steps`: of its record; {}: the routes of IPAM are not compared. A pod whose namespace is gone differs in nothing.
// Errors: it cannot be found out.
Result<std::vector<podnet::Deviation>> LookInside(engine::Connections& connections, const config::Rail& rail,
                                                  const state::Attachment& attachment,
                                                  const std::vector<state::Step>& steps);

// The same of its device: settings of the PF for its VF, the RDMA device. They have no command: a new ADD sets them.
Result<std::vector<podnet::Deviation>> LookAtDevice(engine::Connections& connections,
                                                    const state::Attachment& attachment,
                                                    const std::vector<state::Step>& steps);

// Looks into the pods of all attachments that are ready until `until`, and counts those that it had no time for. `libraries`: the folders
// of pods' library files.
void LookIntoPods(NodeFacts& facts, const engine::Deps& deps, const std::string& libraries, Deadline until);

// The command for a person on the node that makes all of them right, in backquotes: "`nsenter --net=/run/netns/x sh -c 'A && B'`";
// "": none does.
std::string CommandFor(const state::Attachment& attachment, const std::vector<podnet::Deviation>& deviations);

}  // namespace rail::inspect
