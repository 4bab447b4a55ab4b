// The plugins as a runtime runs them: the built binaries, with an environment and a standard input.
//
// Use:      const Ran ran = RunBinary("ovs-provider", {{"CNI_COMMAND", "VERSION"}}, "");
// Threads:  any
#pragma once

#include <map>
#include <string>
#include <vector>

namespace rail::testing {

using Variables = std::map<std::string, std::string>;

struct Ran {
  int status = -1;  // the exit status; 128 + N: killed by signal N
  std::string out;
  std::string err;
  long peak_kib = 0;  // the most memory that it held at once
};

const std::vector<std::string>& AllPlugins();

// The environment is `variables` and nothing else, but for RAILCNI_ROOT: when they leave it out, it names an empty folder that
// lives as long as the call, so no run sees the machine's own files or those of another run. Ends the test's program when the
// binary cannot be started.
Ran RunBinary(const std::string& plugin, const Variables& variables, const std::string& in);

// The same with an open descriptor as its standard input.
Ran RunBinaryOn(const std::string& plugin, const Variables& variables, int in);

}  // namespace rail::testing
