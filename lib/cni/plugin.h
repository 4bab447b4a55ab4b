// The CNI protocol, once: environment, configuration, version gates, dispatch, and the one document on
// stdout.
//
// Use:      int main() { return cni::Main(MakePlugin({...})); }
// Threads:  one
// Source:   CNI SPEC.md 1.1.0; reference skel for error codes and messages
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "lib/cni/error.h"
#include "lib/cni/request.h"
#include "lib/cni/version.h"

namespace rail::cni {

// The verbs of one plugin. A verb that is not set succeeds and says nothing, as with the reference's skel.
struct Plugin {
  std::string name;
  std::string about;                                          // one line, printed when CNI_COMMAND is not set
  std::function<Outcome<void>(const Request&)> check_config;  // the plugin's own keys, nothing else
  std::function<Outcome<std::string>(const Request&)> add;    // returns the result document
  std::function<Outcome<void>(const Request&)> del;
  std::function<Outcome<void>(const Request&)> check;
  std::function<Outcome<void>(const Request&)> gc;
  std::function<Outcome<void>(const Request&)> status;
};

// All that a run touches outside itself, so that tests call the protocol without a process.
struct Process {
  std::function<const char*(const char*)> getenv;
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

// Returns the exit status: 0, or 1 with an error document. Writes at most one JSON document to process.out.
// In this order: environment (code 4), standard input (5), JSON (6), "name" (7), version gates (1, 6), the
// rest of the configuration (7), whether CNI_NETNS is another namespace than ours (ADD; 8), the verb. DEL is
// not refused for a "deviceID" or "prevResult" that ADD would refuse: they are taken as absent.
int Run(const Plugin& plugin, const Process& process);

// Run on the real process, with the stderr logger and a last catch (code 105).
int Main(const Plugin& plugin);

// Reads a network configuration on process.in and says whether the plugin can use it: exit status 0 and no output, or 1
// and an error document. Looks at nothing else: for whoever writes or reviews a NetworkAttachmentDefinition.
int CheckConfig(const Plugin& plugin, const Process& process);

// CheckConfig on the real process.
int CheckConfigMain(const Plugin& plugin);

}  // namespace rail::cni
