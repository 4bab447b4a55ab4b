// UDP datagrams from one pod's interface to another's, and back.
//
// Use:      RAIL_ASSIGN(const v1::EchoResponse answer, Echo(from, to, 200, 1024));
// Threads:  any thread
#pragma once

#include <cstdint>
#include <string>

#include "cmd/railctl/accept/stage.h"

namespace rail::accept {

constexpr uint32_t kEchoPauseUs = 1000;  // between two datagrams

// `bytes`: of the IP packet. Over IPv4 where both have it. Errors: kInvalid: no common family; those of asking the agent.
Result<v1::EchoResponse> Echo(const Port& from, const Port& to, uint32_t datagrams, uint32_t bytes);

}  // namespace rail::accept
