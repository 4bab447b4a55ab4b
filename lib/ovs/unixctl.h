// Sends commands to a running ovs-vswitchd, like ovs-appctl.
//
// Use:      RAIL_ASSIGN(std::string socket, FindUnixctl("/run/openvswitch"));
//           RAIL_ASSIGN(std::string flows, UnixctlCall(socket, "dpctl/dump-flows", {"-m", "type=offloaded"}, deadline));
// Threads:  any thread
// Source:   ovs-appctl(8); lib/unixctl.c of Open vSwitch
#pragma once

#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/error.h"

namespace rail::ovs {

// The control socket of the ovs-vswitchd whose pid file is <run_dir>/ovs-vswitchd.pid; without one, of the ovs-vswitchd
// that was started with --unixctl=<run_dir>/ovs-vswitchd.ctl.
// Errors: kNotFound no pid file: ovs-vswitchd does not run, or uses another folder; kInvalid the file holds no pid.
Result<std::string> FindUnixctl(const std::string& run_dir);

// The output of the command. Errors: kNotFound, kTransient the daemon is gone or slow; kInvalid it refuses (in its
// words). Safe to repeat if the command is.
Result<std::string> UnixctlCall(const std::string& socket, const std::string& method,
                                const std::vector<std::string>& args, Deadline deadline);

}  // namespace rail::ovs
