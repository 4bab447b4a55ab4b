// A node that is well, for the tests of the doctor.
#pragma once

#include "lib/inspect/doctor.h"

namespace rail::inspect {

// One rail, rail0, and one pod on it, "ns/a net1 on rail0": the doctor finds nothing.
NodeFacts Well();

}  // namespace rail::inspect
