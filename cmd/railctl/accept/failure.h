// What the loss of a leaf's port costs, and whether all is as it was afterwards, while somebody takes one down and up.
//
// Use:      CheckFailure(stage, 120, std::cerr, book);
// Threads:  one; each node has a thread
#pragma once

#include <cstdint>
#include <ostream>

#include "cmd/railctl/accept/book.h"
#include "cmd/railctl/accept/stage.h"

namespace rail::accept {

constexpr uint32_t kLongestFailure = 3600;  // seconds

// Fills the checks of group "failure". Ends early when what has failed is back. Writes to `err` when the time begins and ends.
void CheckFailure(const Stage& stage, uint32_t seconds, std::ostream& err, Book& book);

}  // namespace rail::accept
