// The CNI protocol, for all our plugins: environment, configuration, version checks, dispatch, and the one document
// on stdout.
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

// The verbs of one plugin. A verb that is not set succeeds and prints nothing, as in the reference's skel.
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

// Everything that a run touches outside itself, so that tests run the protocol without a process.
struct Process {
  std::function<const char*(const char*)> getenv;
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

// Returns the exit status: 0, or 1 with an error document. Writes at most one JSON document to process.out.
// In this order, it checks the environment (code 4), standard input (5), JSON (6), "name" (7), versions (1, 6), the
// rest of the configuration (7) and that CNI_NETNS is another namespace than ours (ADD; 8), and runs the verb. DEL
// treats a "deviceID" or "prevResult" that ADD would refuse as absent, and goes on.
int Run(const Plugin& plugin, const Process& process);

// Run on the real process, with the stderr logger. Prints an error of code 105 for an exception.
int Main(const Plugin& plugin);

// Reads a network configuration from process.in and says whether the plugin can use it: exit status 0 and no output, or 1
// and an error document. Checks nothing else. It is for people who write or review a NetworkAttachmentDefinition.
int CheckConfig(const Plugin& plugin, const Process& process);

// CheckConfig on the real process.
int CheckConfigMain(const Plugin& plugin);

}  // namespace rail::cni
