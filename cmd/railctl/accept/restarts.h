// What a restart of a daemon costs the pods, measured while somebody restarts it: `railctl accept` itself may restart nothing.
//
// Use:      CheckRestarts(stage, 60, std::cerr, book);
// Threads:  one; each pair has a thread
#pragma once

#include <cstdint>
#include <ostream>

#include "cmd/railctl/accept/book.h"
#include "cmd/railctl/accept/stage.h"

namespace rail::accept {

constexpr uint32_t kLongestWindow = 90;  // seconds

// Sends between every interface and one or two others of its tenant for `seconds`, 1..kLongestWindow, a datagram each millisecond, and by verbs where there is RDMA. Writes to
// `err` when the time begins and ends. Fails where a pair is silent for more than a second, or a queue pair is lost. Could not measure where no
// raild has seen anything restart.
void CheckRestarts(const Stage& stage, uint32_t seconds, std::ostream& err, Book& book);

}  // namespace rail::accept
