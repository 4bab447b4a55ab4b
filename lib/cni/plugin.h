// The CNI protocol, once: environment, configuration, version gates, dispatch, and the one document on stdout.
//
// Use:      int main() { return cni::Main(MakePlugin({...})); }
// Threads:  one
// Source:   CNI SPEC.md 1.1.0; reference skel for error codes and messages
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "lib/cni/error.h"
#include "lib/cni/request.h"

namespace rail::cni {

// The versions that every plugin of ours speaks, oldest first.
const std::vector<std::string>& SupportedVersions();

struct Plugin {
  std::string name;
  std::string about;  // one line, printed when CNI_COMMAND is not set
  std::function<Outcome<std::string>(const Request&)> add;   // returns the result document
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

// Returns the exit status. Writes at most one JSON document to process.out.
int Run(const Plugin& plugin, const Process& process);

// Run on the real process, with the stderr logger and a last catch.
int Main(const Plugin& plugin);

}  // namespace rail::cni
