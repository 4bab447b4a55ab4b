// RDMA between two pods, by the programs of perftest that both have.
//
// Use:      RAIL_ASSIGN(const VerbsRun run, RunVerbs(from, to, "ib_write_bw", 5, false));   run.Delivered()
// Threads:  any thread
#pragma once

#include <cstdint>
#include <string>

#include "cmd/railctl/accept/book.h"
#include "cmd/railctl/accept/stage.h"

namespace rail::accept {

// Whether the pod has the program of perftest, and a device for the interface.
bool HasVerbs(const Port& port, const std::string& program);

struct VerbsRun {
  v1::RunPerftestResponse client;          // `from`'s end
  Result<v1::RunPerftestResponse> server;  // `to`'s end; an error where it has waited in vain

  // Both ends say so: a datagram that is lost fails at the receiver alone.
  bool Delivered() const { return client.exit_status() == 0 && server && server->exit_status() == 0; }
};

// The two ends meet over the pods' network beside the rails where both are on one, as two tenants cannot meet on a rail. `datagrams`: UD in place
// of RC (of ib_send_*). `more_seconds`: beyond `seconds`, for all that is not sending. Errors: kUnsupported: what a pod lacks for it; those of asking the agent of `from`.
Result<VerbsRun> RunVerbs(const Port& from, const Port& to, const std::string& program, uint32_t seconds,
                          bool datagrams, uint32_t more_seconds = 30);

// Fills the check "isolation.verbs": what is sent by verbs arrives at the own tenant's pod, and at no other tenant's.
void CheckVerbs(const Stage& stage, Book& book);

}  // namespace rail::accept
