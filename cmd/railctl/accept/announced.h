// That no pod can announce another's address: nobody who speaks BGP answers it, and each address keeps its owner in the view of every raild.
//
// Use:      CheckAnnounced(stage, book);
// Threads:  one
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cmd/railctl/accept/book.h"
#include "cmd/railctl/accept/stage.h"

namespace rail::accept {

// Of one whom a pod has asked for a connection.
struct Answers {
  std::string whom;  // "fe80::1 (the gateway)"
  uint64_t segments = 0;
  bool refused = false;  // by the newest of them (RST)
};

// Who announces an address, as a raild has it from BGP.
struct Owners {
  std::set<std::string> who;  // "tenant-a from AS 4200000001"
  bool contested = false;     // by two tenants
};
using Views = std::map<std::pair<std::string, std::string>, Owners>;  // by node and address, or whose it is

// Sentences about addresses that somebody announces whom no view had before, or two tenants do; "": none. That an owner is gone says nothing:
// BGP withdraws what a session has lost.
std::string Disputes(const Views& before, const Views& after);

// Its verdict and what was seen.
Attempt JudgeAnnounced(const std::vector<Answers>& answers, const std::string& disputes, size_t nodes);

// Fills the check "isolation.announced".
void CheckAnnounced(const Stage& stage, Book& book);

}  // namespace rail::accept
