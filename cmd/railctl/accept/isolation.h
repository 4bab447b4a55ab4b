// What a tenant must not be able to do on the network, tried by hand-made frames. What is forbidden is tried only after the same agent has just
// delivered what is allowed, and while the receivers have just been seen to receive.
//
// Use:      CheckIsolation(stage, book);
// Threads:  one
#pragma once

#include "cmd/railctl/accept/book.h"
#include "cmd/railctl/accept/stage.h"

namespace rail::accept {

// Fills the checks of group "isolation".
void CheckIsolation(const Stage& stage, Book& book);

}  // namespace rail::accept
