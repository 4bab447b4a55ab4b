#include "cmd/railctl/railctl.h"

#include "cmd/railctl/accept/run.h"
#include "cmd/railctl/commands.h"
#include "cmd/railctl/completion.h"
#include "cmd/railctl/tree.h"

namespace rail::railctl {
namespace {

ExitCode RunConnected(const Context& context) {
  RAIL_TRY(context.client.Connect());
  if (!context.flags.fabric.empty()) return AskFabric(context);
  RAIL_TRY(CheckRail(context));
  const bool watch = context.flags.watch;
  switch (context.flags.command) {
    case Command::kAttachments: return watch ? WatchAttachments(context) : GetAttachments(context);
    case Command::kRails: return watch ? WatchRails(context) : GetRails(context);
    case Command::kRemotes: return watch ? WatchRemotes(context) : GetRemotes(context);
    case Command::kTenants: return watch ? WatchTenants(context) : GetTenants(context);
    case Command::kNode: return watch ? WatchNode(context) : GetNode(context);
    case Command::kCounters: return watch ? WatchCounters(context) : GetCounters(context);
    case Command::kTop: return ShowTop(context);
    case Command::kBursts: return ShowBursts(context);
    case Command::kTopology: return GetTopology(context);
    case Command::kFlows: return GetFlows(context);
    case Command::kNics: return GetNics(context);
    case Command::kGpus: return GetGpus(context);
    case Command::kStatus: return ShowStatus(context);
    case Command::kDescribeAttachment: return DescribeAttachment(context);
    case Command::kDescribeRail: return DescribeRail(context);
    case Command::kCheck: return Check(context);
    case Command::kTrace: return Trace(context);
    case Command::kDoctor: return Doctor(context);
    case Command::kLibs: return ShowLibs(context);
    case Command::kHealth: return CheckHealth(context);
    case Command::kJob:
    case Command::kAccept:
    case Command::kAcceptShow:
    case Command::kAcceptDiff:
    case Command::kAcceptAgent:
    case Command::kVersion:
    case Command::kCompletion: break;
  }
  return Fail(Code::kInternal, "a command that asks nobody was to ask raild");
}

ExitCode RunCommand(const Context& context, std::ostream& err) {
  if (context.flags.command == Command::kAccept || context.flags.command == Command::kAcceptShow)
    return Accept(context, err);
  if (context.flags.command == Command::kAcceptDiff)
    return accept::RunDiff(context.flags.reports.front(), context.flags.reports.back(),
                           Painter(context.flags.color), context.out);
  if (context.flags.command == Command::kAcceptAgent) return ServeAcceptAgent(context);
  if (context.flags.command == Command::kVersion) return ShowVersion(context);  // connects if it can
  if (context.flags.command != Command::kCompletion) return RunConnected(context);
  Flags unused;
  context.out << Completion(*MakeTree(unused), context.flags.shell);
  return kDone;
}

// Which exit code says that it has failed.
int ExitCodeOf(const Flags& flags, Code code) {
  if (flags.command == Command::kStatus) return kCannotAsk;
  if (flags.command == Command::kAccept && code != Code::kInvalid) return kNotMeasured;
  return code == Code::kInvalid ? kUsage : kFailed;
}

}  // namespace

int Run(const Flags& flags, std::ostream& out, std::ostream& err, const Now& now) {
  Client client(flags);
  ExitCode done = RunCommand({flags, client, out, now}, err);
  out.flush();
  if (done && !out) done = Fail(Code::kTransient, "cannot write the answer: is the disk full?");
  if (done) return *done;
  err << "railctl: " << done.error().message << '\n';
  return ExitCodeOf(flags, done.error().code);
}

}  // namespace rail::railctl
