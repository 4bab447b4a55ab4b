// What the doctor reads of the uplinks' priorities and of tenants' rates: each function is a part of Inspector::AskParts.
//
// Use:      RAIL_TRY(LookAtLossless(facts, openers));   RAIL_TRY(LookAtRates(facts, openers));
// Threads:  any
// Source:   lib/engine/repair/README.md ("Shares and limits")
#pragma once

#include "lib/engine/attach/connections.h"
#include "lib/inspect/doctor/doctor.h"

namespace rail::inspect {

Status LookAtLossless(NodeFacts& facts, const engine::Openers& openers);
// Nothing came in time: what is wanted is not known.
void LosslessUnknown(NodeFacts& facts, const Error& error);
// Compares each attachment's port with what node.json wants. Errors: devlink does not answer.
Status LookAtRates(NodeFacts& facts, const engine::Openers& openers);

}  // namespace rail::inspect
