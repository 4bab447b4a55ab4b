// The commands that ask raild, one function each. Each prints its answer to `out` and returns the exit code, or an error that
// Run (railctl.cc) prints.
//
// Use:      RAIL_ASSIGN(const int exit_code, GetRails({flags, client, out, now}));
// Threads:  one
#pragma once

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "cmd/railctl/client.h"
#include "cmd/railctl/columns.h"
#include "cmd/railctl/flags.h"
#include "cmd/railctl/json.h"
#include "cmd/railctl/railctl.h"
#include "cmd/railctl/table.h"
#include "lib/base/error.h"
#include "lib/printing/color.h"
#include "lib/printing/findings.h"
#include "rail/v1/node.pb.h"

namespace rail::railctl {

using printing::CountFindings;
using printing::EveryFinding;
using printing::FindsWrong;
using printing::OneLine;
using printing::Painter;
using printing::PrintFinding;
using printing::PrintFindings;
using printing::Unfold;

struct Context {
  const Flags& flags;
  Client& client;
  std::ostream& out;
  const Now& now;
};
using ExitCode = Result<int>;

// lists.cc
ExitCode GetAttachments(const Context& context);
ExitCode GetRails(const Context& context);
ExitCode GetRemotes(const Context& context);
ExitCode GetTenants(const Context& context);
ExitCode GetFlows(const Context& context);
ExitCode GetNode(const Context& context);
// topology.cc
ExitCode GetTopology(const Context& context);
// pcie.cc
ExitCode GetNics(const Context& context);
ExitCode GetGpus(const Context& context);
// watch.cc: until raild ends it, or the process is killed
ExitCode WatchAttachments(const Context& context);
ExitCode WatchRails(const Context& context);
ExitCode WatchRemotes(const Context& context);
ExitCode WatchTenants(const Context& context);
ExitCode WatchNode(const Context& context);
// status.cc, describe.cc
ExitCode ShowStatus(const Context& context);
ExitCode DescribeAttachment(const Context& context);
ExitCode DescribeRail(const Context& context);
// ports.cc, top.cc
ExitCode GetCounters(const Context& context);
ExitCode WatchCounters(const Context& context);
ExitCode ShowBursts(const Context& context);
ExitCode ShowTop(const Context& context);
// libs.cc
ExitCode ShowLibs(const Context& context);
// accept_command.cc: `err` has the progress; agent: until SIGTERM
ExitCode Accept(const Context& context, std::ostream& err);
ExitCode ServeAcceptAgent(const Context& context);
// fabric.cc: what railfabric says of all nodes; with -w until railfabric ends it, or the process is killed
ExitCode AskFabric(const Context& context);
// explain.cc, about.cc
ExitCode Check(const Context& context);
ExitCode Trace(const Context& context);
ExitCode Doctor(const Context& context);
ExitCode CheckHealth(const Context& context);
ExitCode ShowVersion(const Context& context);

// What the commands share (context.cc).

// Errors: kInvalid, naming the rails that exist, when --rail names none of them.
Status CheckRail(const Context& context);
// Those that the flags select; for people by namespace, pod and interface. Errors: kNotFound when the flags name a pod and none is its.
Result<v1::ListAttachmentsResponse> ListAttachments(const Context& context);
Result<std::vector<v1::Rail>> ListRails(const Context& context);
// Of `all` the rail that the flags name, or all.
std::vector<v1::Rail> Selected(const Context& context,
                               const google::protobuf::RepeatedPtrField<v1::Rail>& all);
Result<std::vector<v1::TenantSummary>> ListTenants(const Context& context);
// What the flags select: AttachmentFilter, AttachmentSelector, PortFilter.
template <class Selector>
Selector Meant(const Flags& flags) {
  Selector meant;
  meant.set_namespace_(flags.pod_namespace);
  meant.set_pod(flags.pod);
  meant.set_rail(flags.rail);
  meant.set_ifname(flags.ifname);
  meant.set_tenant(flags.tenant);
  return meant;
}
// `width`: a line is cut there, but not with -o wide; 0: nowhere. `alarming`: as TableStyle says.
Table MakeTable(const Context& context, Columns columns, size_t width = 0,
                const std::set<std::string>& alarming = {});
// How the cells of the command's tables are written, as of now.
CellStyle StyleOf(const Context& context);
bool AsJson(const Context& context);
ExitCode PrintJson(const Context& context, const google::protobuf::Message& message);  // kDone
// By namespace, pod and interface, as people look for them.
bool Before(const v1::Attachment& a, const v1::Attachment& b);

}  // namespace rail::railctl
