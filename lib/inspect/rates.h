// What the doctor reads of the rates of tenants.
//
// Use:      const Status looked = LookAtRates(seen, openers);  TakeRates(facts, seen, looked);
// Threads:  one
// Source:   lib/engine/repair/README.md ("Shares and limits")
#pragma once

#include "lib/engine/attach/connections.h"
#include "lib/inspect/doctor/doctor.h"

namespace rail::inspect {

// Compares each attachment's port with what node.json wants. Errors: devlink does not answer.
Status LookAtRates(NodeFacts& facts, const engine::Openers& openers);
// Rates that cannot be read differ from nothing: raild cannot read them either, and says so (part-failing).
void TakeRates(NodeFacts& facts, NodeFacts& seen, const Status& looked);

}  // namespace rail::inspect
