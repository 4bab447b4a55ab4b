// What raild itself finds on each node, where the cables lead, and which versions run.
//
// Use:      CheckConfiguration(stage, book);
// Threads:  one
#pragma once

#include "cmd/railctl/accept/book.h"
#include "cmd/railctl/accept/stage.h"

namespace rail::accept {

// Whether the node's switch forwards in userspace, as a lab's does: no NIC carries flows then.
bool IsInUserspace(const Node& node);
// What raild of each node finds that belongs to `check`.
void AddFindings(const Stage& stage, const std::string& check, Book& book);

// Fills the checks of group "configuration".
void CheckConfiguration(const Stage& stage, Book& book);

}  // namespace rail::accept
