#include "lib/cni/ipam.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"
#include "lib/cni/version.h"

namespace rail::cni {
namespace {

using nlohmann::json;

// The newest version that every plugin in use supports. Up to this version a plugin is called at once; above it, the
// plugin is first asked for its versions.
constexpr const char* kCommon = "1.0.0";

constexpr unsigned kIncompatible = 1;

const json* IpamOf(const json& config) {
  const auto found = config.find("ipam");
  return found == config.end() || found->is_null() ? nullptr : &*found;
}

std::string TypeOf(const json& config) {
  const json* ipam = IpamOf(config);
  if (ipam == nullptr || !ipam->is_object()) return {};
  const auto type = ipam->find("type");
  return type != ipam->end() && type->is_string() ? type->get<std::string>() : std::string();
}

Outcome<std::string> Exec(const IpamCall& call, const std::string& command, const std::string& config,
                          Deadline deadline) {
  auto environment = call.environment;
  environment["CNI_COMMAND"] = command;
  return ExecPlugin(call.type, call.path, environment, config, deadline);
}

// The plugin's answer to VERSION; empty if it has none. That is no reason to refuse the plugin: the verb itself
// shows whether it is supported.
std::vector<std::string> VersionsOf(const IpamCall& call, Deadline deadline) {
  const auto output = Exec(call, "VERSION", call.config, deadline);
  if (!output) return {};
  const auto document = ParseJson(*output);
  if (!document) return {};
  JsonErrors errors;
  return JsonObject(*document, "", errors).StringsOr("supportedVersions");
}

// The configuration and its prevResult, converted to an older version.
std::string InVersion(const std::string& text, const std::string& version) {
  auto config = ParseJson(text);
  if (!config || !config->is_object()) return text;
  (*config)["cniVersion"] = version;
  if (const auto previous = config->find("prevResult"); previous != config->end()) {
    const auto converted = PassThrough(*previous, version);
    auto parsed = converted ? ParseJson(*converted) : Result<json>(json());
    if (parsed && !parsed->is_null()) {
      *previous = std::move(*parsed);
    } else {
      config->erase(previous);
    }
  }
  return DumpJson(*config);
}

struct Answer {
  std::string version;  // of the call; "" the plugin is too old for the verb and was not called
  std::string output;
};

// The first version of the specification that has the verb.
std::string Since(const std::string& command) {
  if (command == "CHECK") return "0.4.0";
  return command == "GC" || command == "STATUS" ? "1.1.0" : "0.3.0";
}

Outcome<Answer> CallIn(const IpamCall& call, const std::string& command, const std::string& version,
                       const std::string& config, Deadline deadline) {
  RAIL_ASSIGN(std::string output, Exec(call, command, config, deadline));
  return Answer{version, std::move(output)};
}

Outcome<Answer> CallOlder(const IpamCall& call, const std::string& command, const std::string& version,
                          const std::vector<std::string>& theirs, Deadline deadline) {
  const auto& ours = SupportedVersions();
  const auto common = std::find_if(ours.rbegin(), ours.rend(), [&](const std::string& one) {
    return std::ranges::find(theirs, one) != theirs.end();
  });
  if (common == ours.rend()) {
    return CniFail(kIncompatible, "ipam " + call.type + ": incompatible CNI versions",
                   fmt::format("config is {}, plugin supports {}", Quote(version), QuoteList(theirs)));
  }
  if (!AtLeast(*common, Since(command))) return Answer{};
  return CallIn(call, command, *common, InVersion(call.config, *common), deadline);
}

Outcome<Answer> Call(const IpamCall& call, const std::string& command, Deadline deadline) {
  const auto config = ParseJson(call.config);
  if (!config || !config->is_object())
    return CniFail(7, "invalid network config: the configuration of the IPAM plugin is no JSON object");
  if (call.type.empty())
    return CniFail(7, "invalid network config: ipam must be an object with a \"type\", the name of a plugin");
  const auto found = config->find("cniVersion");
  const std::string version = found != config->end() && found->is_string() ? found->get<std::string>() : "";

  if (!AtLeast(kCommon, version)) {
    const auto theirs = VersionsOf(call, deadline);
    if (theirs.empty() || std::ranges::find(theirs, version) != theirs.end()) {
      return CallIn(call, command, version, call.config, deadline);
    }
    return CallOlder(call, command, version, theirs, deadline);
  }
  auto answer = CallIn(call, command, version, call.config, deadline);
  if (answer || answer.error().code != kIncompatible) return answer;
  const auto theirs = VersionsOf(call, deadline);
  if (theirs.empty() || std::ranges::find(theirs, version) != theirs.end()) return answer;
  return CallOlder(call, command, version, theirs, deadline);
}

Outcome<AddResult> ParseAnswer(const IpamCall& call, const Answer& answer) {
  auto document = ParseJson(answer.output);
  if (!document) return CniFail(kFault, "ipam " + call.type + ": its answer is " + document.error().message);
  auto result = AddResult::Parse(*document, answer.version);
  if (!result)
    return CniFail(kFault, "ipam " + call.type + ": its answer is no result: " + result.error().message);
  return std::move(*result);
}

Outcome<void> CallQuietly(const IpamCall& call, const std::string& command, Deadline deadline) {
  RAIL_TRY(Call(call, command, deadline));
  return {};
}

std::string JoinPath(const std::vector<std::string>& path) {
  return fmt::format("{}", fmt::join(path, ":"));
}

}  // namespace

bool GaveNothing(const CniError& error) {
  return error.code != kTryAgain && error.code != kFault;
}

bool HasIpam(const Request& request) {
  const json* ipam = IpamOf(*request.config);
  if (ipam == nullptr) return false;
  if (!ipam->is_object()) return true;
  const auto type = ipam->find("type");
  return type != ipam->end() && !type->is_null() && *type != "";
}

IpamCall MakeIpamCall(const Request& request) {
  IpamCall call;
  call.type = TypeOf(*request.config);
  call.path = request.path;
  call.environment = {{"CNI_CONTAINERID", request.container_id},
                      {"CNI_NETNS", request.netns},
                      {"CNI_IFNAME", request.ifname},
                      {"CNI_ARGS", request.args},
                      {"CNI_PATH", JoinPath(request.path)}};
  call.config = request.config_text;
  return call;
}

std::string IpamCall::ToJson() const {
  return DumpJson({{"type", type}, {"path", path}, {"environment", environment}, {"config", config}});
}

Result<IpamCall> IpamCall::FromJson(const std::string& text) {
  // The configuration is a JSON string in this document: one byte of it can take six.
  RAIL_ASSIGN(const json document, ParseJson(text, {.max_bytes = 8U << 20, .max_depth = 4}));
  JsonErrors errors;
  JsonObject object(document, "", errors);
  IpamCall call;
  call.type = object.String("type");
  call.path = object.StringsOr("path");
  call.config = object.String("config");
  if (const json* environment = object.Object("environment"); environment != nullptr) {
    JsonObject variables(*environment, "environment", errors);
    for (const auto& [name, value] : environment->items()) call.environment[name] = variables.String(name);
  } else if (!object.Has("environment")) {
    errors.Add("environment", "is missing");
  }
  object.RejectUnknown();
  RAIL_TRY(errors.ToStatus("the record of an address"));
  return call;
}

Outcome<void> Release(const IpamCall& call, Deadline deadline) {
  return CallQuietly(call, "DEL", deadline);
}

Outcome<AddResult> ExecIpam::Add(const Request& request, Deadline deadline) {
  const IpamCall call = MakeIpamCall(request);
  auto answer = Call(call, "ADD", deadline);
  Outcome<AddResult> result = answer ? ParseAnswer(call, *answer) : tl::make_unexpected(answer.error());
  if (result) return result;
  // Call DEL even when the deadline has passed: an address that the plugin reserved before it must not stay.
  const auto undone = Release(call, std::max(deadline, After(std::chrono::seconds(5))));
  if (!undone && undone.error().msg != result.error().msg) {
    result.error().details +=
        (result.error().details.empty() ? "" : "; ") + ("the DEL after it failed too: " + undone.error().msg);
  }
  return result;
}

Outcome<void> ExecIpam::Del(const Request& request, Deadline deadline) {
  return Release(MakeIpamCall(request), deadline);
}

Outcome<void> ExecIpam::Check(const Request& request, Deadline deadline) {
  auto checked = CallQuietly(MakeIpamCall(request), "CHECK", deadline);
  // whereabouts gives this answer to every CHECK (cmd/whereabouts.go). It does not mean that something is wrong.
  if (!checked && checked.error().msg.find("CHECK method is not implemented") != std::string::npos) return {};
  return checked;
}

Outcome<void> ExecIpam::Forward(const Request& request, Deadline deadline) {
  return CallQuietly(MakeIpamCall(request), request.command, deadline);
}

}  // namespace rail::cni
