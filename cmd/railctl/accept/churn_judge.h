// What a node is like before and after pods have come and gone, and what that comes to. No I/O.
//
// Use:      const Attempt add = JudgeVerb("ADD", before, after);   const std::vector<std::string> left = LeftOver(before, after);
// Threads:  pure functions
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cmd/railctl/accept/book.h"
#include "rail/v1/node.pb.h"

namespace rail::accept {

struct NodeThen {
  v1::GetNodeResponse node;
  std::vector<v1::Attachment> attachments;  // of the tenants that take part, and of none yet
  std::set<std::string> remotes;            // "10.0.1.5 on rail0", of these tenants
  std::set<std::string> problems;           // that raild's Check has found, with the pod of each
  std::set<std::string> findings;           // of the doctor, about what pods leave
};

// Of the doctor: what an ADD or a DEL may leave.
bool IsAboutLeftovers(const v1::Finding& finding);

// How many runs of the verb have ended in between, of all plugins.
uint64_t RunsOf(const std::string& verb, const NodeThen& before, const NodeThen& after);
// Fails where one has failed, or 1 % of a plugin's took longer than 5 s. Could not measure where none has ended, or raild has begun anew.
Attempt JudgeVerb(const std::string& verb, const NodeThen& before, const NodeThen& after);
// Attachments and remotes that were not there, and are not gone.
std::vector<std::string> NotGone(const NodeThen& before, const NodeThen& after);
// These, and what raild's Check and doctor say of others.
std::vector<std::string> LeftOver(const NodeThen& before, const NodeThen& after);

}  // namespace rail::accept
