// Whether the NICs carry the flows of pods, how many flows a pair of pods costs, and by how many masks a NIC looks packets up.
//
// Use:      CheckOffload(stage, book);
// Threads:  one
#pragma once

#include <cstddef>
#include <string>

#include "cmd/railctl/accept/book.h"
#include "cmd/railctl/accept/stage.h"

namespace rail::accept {

// Fills the checks of group "offload".
void CheckOffload(const Stage& stage, Book& book);

// Of the check "offload.masks": what a node answers while `pairs` of its pods are under load.
Attempt JudgeMasks(const v1::ListFlowsResponse& flows, const std::string& node, size_t pairs);

}  // namespace rail::accept
