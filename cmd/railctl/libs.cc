#include <algorithm>
#include <string>

#include "cmd/railctl/commands.h"

namespace rail::railctl {

ExitCode ShowLibs(const Context& context) {
  v1::GetLibsRequest request;
  request.set_namespace_(context.flags.pod_namespace);
  request.set_pod(context.flags.pod);
  request.set_version(context.flags.nccl_version);
  RAIL_ASSIGN(v1::GetLibsResponse answer, context.client.Ask(&v1::Node::Stub::GetLibs, request));
  const auto file = std::ranges::find(answer.files(), context.flags.file, &v1::LibsFile::name);
  if (AsJson(context)) {
    RAIL_TRY(PrintJson(context, answer));
  } else if (file == answer.files().end()) {
    return Fail(Code::kNotFound, "the pod has no " + context.flags.file + ": nothing of it is on PCIe");
  } else {
    context.out << file->text();
  }
  return answer.problems().empty() ? kDone : kFailed;
}

}  // namespace rail::railctl
