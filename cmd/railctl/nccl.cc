#include <string>

#include "cmd/railctl/commands.h"

namespace rail::railctl {
namespace {

// In quotes that no shell looks into.
std::string Quoted(const std::string& value) {
  std::string text = "'";
  for (const char c : value) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

void PrintSettings(const Context& context, const v1::GetNcclResponse& answer) {
  std::ostream& out = context.out;
  const bool file = context.flags.conf_file;
  for (const std::string& problem : answer.problems()) out << "# missing: " << OneLine(problem) << '\n';
  for (const v1::NcclSetting& setting : answer.settings()) {
    out << "# " << setting.name() << ": " << (setting.leave() ? "leave it alone: " : "")
        << OneLine(setting.reason()) << '\n';
    if (setting.leave()) continue;
    const std::string value = OneLine(setting.value());
    out << (file ? "" : "export ") << setting.name() << '=' << (file ? value : Quoted(value)) << '\n';
  }
}

}  // namespace

ExitCode ShowNccl(const Context& context) {
  v1::GetNcclRequest request;
  request.set_namespace_(context.flags.pod_namespace);
  request.set_pod(context.flags.pod);
  request.set_version(context.flags.nccl_version);
  RAIL_ASSIGN(v1::GetNcclResponse answer, context.client.Ask(&v1::Node::Stub::GetNccl, request));
  if (AsJson(context)) {
    RAIL_TRY(PrintJson(context, answer));
  } else if (!context.flags.topology) {
    PrintSettings(context, answer);
  } else if (answer.topology().empty()) {
    return Fail(Code::kNotFound, "nothing of the pod is on PCIe: there is no tree to print");
  } else {
    context.out << answer.topology();
  }
  return answer.problems().empty() ? kDone : kFailed;
}

}  // namespace rail::railctl
