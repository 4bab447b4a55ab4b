// A node that is well, for the tests of the doctor.
#pragma once

#include "lib/inspect/doctor/doctor.h"

namespace rail::inspect {

// One rail, rail0, and one pod on it, "ns/a net1 on rail0": the doctor finds nothing.
NodeFacts Well();

// The session of rail0 is down, as raild has seen it. `said`: the notification that ended it.
void EndSession(NodeFacts& facts, frr::Attempt attempt, std::optional<frr::Notification> said = {});

// Makes rails beside rail0, each as well as it is, and gives each one of `leaves`. `others`: the leaves of other nodes, by AS; this node has
// the AS 1.
void Cable(NodeFacts& facts, const std::vector<uint32_t>& leaves,
           const std::map<uint32_t, std::vector<uint32_t>>& others);

// Flows of rep0, each with a mask of its own.
void AddMasks(NodeFacts& facts, int masks);

// The findings that a test file of its own has tests for: bgp_test.cc, counters_test.cc, ...
std::vector<std::string> FindingsOfBgp();
std::vector<std::string> FindingsOfCounters();
std::vector<std::string> FindingsOfPlanes();
std::vector<std::string> FindingsOfRates();
std::vector<std::string> FindingsOfRequests();
std::vector<std::string> FindingsOfTenants();
std::vector<std::string> FindingsOfVlans();

}  // namespace rail::inspect
