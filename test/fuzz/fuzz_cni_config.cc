// Any bytes as the network configuration of every verb: one JSON document or nothing on stdout, status 0 or 1, no crash.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/cni/ipam.h"
#include "lib/cni/plugin.h"
#include "lib/cni/result.h"

namespace {

using namespace rail;
using namespace rail::cni;

// Parses all that a verb can parse. Calls no other plugin. A DEL has {} where the input is no configuration: then it calls IPAM from the
// record.
Outcome<std::string> ParseAll(const Request& request) {
  if (request.command == "DEL" && request.config->empty()) return std::string();
  const IpamCall call = MakeIpamCall(request);
  const auto again = IpamCall::FromJson(call.ToJson());
  if (!again || !(*again == call)) std::abort();
  if (HasIpam(request) && call.type.empty()) return CniFail(7, "ipam");
  if (!request.prev_result) return AddResult{}.Print(request.cni_version);
  RAIL_TRY(AddResult::Parse(*request.prev_result, request.cni_version));
  RAIL_ASSIGN(std::string out, PassThrough(*request.prev_result, request.cni_version));
  return out;
}

Outcome<void> ParseQuietly(const Request& request) {
  RAIL_TRY(ParseAll(request));
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Plugin plugin{.name = "fuzz",
                             .about = "",
                             .add = ParseAll,
                             .del = ParseQuietly,
                             .check = ParseQuietly,
                             .gc = ParseQuietly,
                             .status = ParseQuietly};
  for (const char* command : {"ADD", "DEL", "CHECK", "GC", "STATUS"}) {
    const auto getenv = [command](const char* name) -> const char* {
      const std::string_view variable(name);
      if (variable == "CNI_COMMAND") return command;
      if (variable == "CNI_ARGS") return "K8S_POD_NAMESPACE=team-a";
      return variable == "CNI_NETNS_OVERRIDE" ? nullptr : "x";
    };
    std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
    std::ostringstream out;
    std::ostringstream err;
    const int status = Run(plugin, Process{.getenv = getenv, .in = in, .out = out, .err = err});
    if (status != 0 && status != 1) std::abort();
    if (!out.str().empty() && !nlohmann::json::parse(out.str()).is_object()) std::abort();
    if (out.str().empty() && (status != 0 || std::string_view(command) == "ADD")) std::abort();
  }
  return 0;
}
