// Whether the NICs carry the flows of pods, and how many flows a pair of pods costs.
//
// Use:      CheckOffload(stage, book);
// Threads:  one
#pragma once

#include "cmd/railctl/accept/book.h"
#include "cmd/railctl/accept/stage.h"

namespace rail::accept {

// Fills the checks of group "offload".
void CheckOffload(const Stage& stage, Book& book);

}  // namespace rail::accept
