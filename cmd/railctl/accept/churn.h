// How long ADD and DEL take, and what they leave, while pods come and go: those of the run, or somebody else's.
//
// Use:      CheckChurn(stage, {.times = 3}, std::cerr, book);
// Threads:  one; each node has a thread
#pragma once

#include <cstdint>
#include <ostream>

#include "cmd/railctl/accept/book.h"
#include "cmd/railctl/accept/stage.h"

namespace rail::accept {

constexpr uint32_t kLongestChurn = 3600;  // seconds

struct Churn {
  uint32_t times = 0;    // a pod of the run on each node, where the stage can make some
  uint32_t seconds = 0;  // for somebody else
};

// Fills the checks of group "churn". Writes to `err` when somebody's time begins and ends.
void CheckChurn(const Stage& stage, const Churn& churn, std::ostream& err, Book& book);

}  // namespace rail::accept
