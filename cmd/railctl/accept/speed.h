// How well pods of a tenant reach each other: every pair, in rounds of which each interface is in one pair, on all rails at once.
//
// Use:      CheckSpeed(stage, false, book);
// Threads:  one; each pair of a round has a thread of its own
#pragma once

#include "cmd/railctl/accept/book.h"
#include "cmd/railctl/accept/stage.h"

namespace rail::accept {

// Fills the checks of group "speed".
void CheckSpeed(const Stage& stage, bool quick, Book& book);

}  // namespace rail::accept
