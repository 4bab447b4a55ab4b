// A request without a runtime: the environment and configuration in, what the protocol makes of them out.
//
// Use:      Ran ran = RunPlugin(plugin, AddEnvironment(), R"({"cniVersion": "1.0.0", "name": "rail0"})");
//           Request request = MakeRequest("ADD", config);             // fails the program when it is refused
// Threads:  any thread
#pragma once

#include <map>
#include <string>

#include "lib/cni/plugin.h"
#include "lib/cni/request.h"

namespace rail::cni::testing {

using Environment = std::map<std::string, std::string>;

struct Ran {
  int status = 0;
  std::string out;
  std::string err;
};

// All variables of an ADD: container "c1", "net1", a netns path that is not there, CNI_PATH "/usr/lib/cni".
Environment AddEnvironment();

Ran RunPlugin(const Plugin& plugin, const Environment& environment, const std::string& config);

// The request that a plugin gets for `command` in AddEnvironment(), with `changes` put over it.
Request MakeRequest(const std::string& command, const std::string& config, const Environment& changes = {});

}  // namespace rail::cni::testing
