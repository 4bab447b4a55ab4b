// What the doctor reads of the uplinks' priorities.
//
// Use:      RAIL_TRY(LookAtLossless(seen, openers));  TakeLossless(facts, seen, {});      // a part of Inspector::AskParts
// Threads:  any
#pragma once

#include "lib/engine/repair/lossless.h"
#include "lib/inspect/doctor/doctor.h"

namespace rail::inspect {

Status LookAtLossless(NodeFacts& facts, const engine::Openers& openers);
// `looked`: an error where nothing came in time; then what is wanted is not known.
void TakeLossless(NodeFacts& facts, NodeFacts& seen, const Status& looked);

}  // namespace rail::inspect
