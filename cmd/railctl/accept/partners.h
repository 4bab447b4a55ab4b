// Whom a pod's interface is tried with: the far ones say more than the near ones.
//
// Use:      const Port* const mate = Mate(stage, port);   // may be null
// Threads:  pure functions
#pragma once

#include <utility>
#include <vector>

#include "cmd/railctl/accept/book.h"
#include "cmd/railctl/accept/stage.h"

namespace rail::accept {

// Of the same tenant and rail: below another leaf, else on another node, else on the same. Null: there is none.
const Port* Mate(const Stage& stage, const Port& port);
// Of other tenants on the rail: one on the same node, and the farthest one elsewhere.
std::vector<const Port*> Strangers(const Stage& stage, const Port& port);
// Every interface with its mate, and back: so that each sends and each receives.
std::vector<std::pair<const Port*, const Port*>> Mates(const Stage& stage);
// Every interface with its strangers, and back: so that each tries and each is tried.
std::vector<std::pair<const Port*, const Port*>> Opponents(const Stage& stage);
// The interfaces of one tenant on one rail, for every tenant and rail.
std::vector<std::vector<const Port*>> Circles(const std::vector<Port>& ports);
// The attempt, with the names of the two and of their rail.
Attempt Between(const Port& from, const Port& to, Attempt attempt);

}  // namespace rail::accept
