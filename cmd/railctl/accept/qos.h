// What the network does to marks of packets on their way: DSCP and ECN, by which switches and NICs tell RoCE from the rest; and what noise does
// to others (neighbour.h).
//
// Use:      CheckQos(stage, book);
// Threads:  one
#pragma once

#include "cmd/railctl/accept/book.h"
#include "cmd/railctl/accept/stage.h"

namespace rail::accept {

// Fills the checks of group "qos".
void CheckQos(const Stage& stage, Book& book);

}  // namespace rail::accept
