#include "lib/cni/testing/request.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>

namespace rail::cni::testing {

Environment AddEnvironment() {
  return {{"CNI_COMMAND", "ADD"},
          {"CNI_CONTAINERID", "c1"},
          {"CNI_NETNS", "/run/netns/not-there"},
          {"CNI_IFNAME", "net1"},
          {"CNI_PATH", "/usr/lib/cni"}};
}

Ran RunPlugin(const Plugin& plugin, const Environment& environment, const std::string& config) {
  std::istringstream in(config);
  std::ostringstream out;
  std::ostringstream err;
  const auto getenv = [&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  };
  const int status = Run(plugin, Process{.getenv = getenv, .in = in, .out = out, .err = err});
  return {status, out.str(), err.str()};
}

Request MakeRequest(const std::string& command, const std::string& config, const Environment& changes) {
  std::optional<Request> seen;
  const auto keep = [&](const Request& request) -> Outcome<void> {
    seen = request;
    return {};
  };
  Plugin plugin{
      .name = "request", .about = "", .add = {}, .del = keep, .check = keep, .gc = keep, .status = keep};
  plugin.add = [&](const Request& request) -> Outcome<std::string> {
    seen = request;
    return std::string();
  };
  Environment environment = AddEnvironment();
  environment["CNI_COMMAND"] = command;
  for (const auto& [name, value] : changes) environment[name] = value;
  const Ran ran = RunPlugin(plugin, environment, config);
  if (!seen) {
    std::fprintf(stderr, "not a request: %s\n", ran.out.c_str());
    std::abort();
  }
  return *seen;
}

}  // namespace rail::cni::testing
