// A network namespace for one test: empty at first, gone with its last holder.
//
// Use:      const netns::Netns pod = testing::MakeScratch();
//           testing::Shell(pod, "ip link add vf0 type veth peer name rep0");
// Threads:  any
#pragma once

#include <string>

#include "lib/netlink/netns.h"

namespace rail::netns::testing {

// Ends the program when the kernel refuses: no test could go on. Needs CAP_SYS_ADMIN.
Netns MakeScratch();

// Runs a shell command inside. Errors: kInternal, with the command, when its status is not 0.
Status Shell(const Netns& where, const std::string& command);

}  // namespace rail::netns::testing
