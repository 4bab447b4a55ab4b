#include <unistd.h>

#include "cmd/railctl/accept/agent.h"
#include "cmd/railctl/accept/run.h"
#include "cmd/railctl/commands.h"

namespace rail::railctl {

ExitCode Accept(const Context& context, std::ostream& err) {
  const Flags& flags = context.flags;
  const accept::Options options = {.stage = flags.stage,
                                   .kubernetes = flags.kubernetes,
                                   .nodes = flags.nodes,
                                   .networks = flags.networks,
                                   .plan = flags.plan,
                                   .restarts = flags.restarts,
                                   .failure = flags.failure,
                                   .churn = flags.churn,
                                   .quick = flags.quick,
                                   .only = flags.only,
                                   .json_file = flags.json_file,
                                   .junit_file = flags.junit_file,
                                   .page_file = flags.page_file,
                                   .resume = flags.resume,
                                   .json = AsJson(context)};
  const accept::Terminal terminal = {.out = context.out,
                                     .err = err,
                                     .color = flags.color,
                                     .moving = ::isatty(STDERR_FILENO) == 1,
                                     .now_ms = context.now};
  if (flags.command == Command::kAcceptShow) return accept::RunShow(flags.reports.front(), options, terminal);
  return accept::Run(options, terminal);
}

ExitCode ServeAcceptAgent(const Context& context) {
  const Flags& flags = context.flags;
  return accept::ServeAgent({.listen = flags.listen,
                             .ca_file = flags.ca_file,
                             .cert_file = flags.cert_file,
                             .key_file = flags.key_file,
                             .raild = flags.raild},
                            context.out);
}

}  // namespace rail::railctl
