#include <algorithm>
#include <nlohmann/json.hpp>

#include "cmd/railctl/commands.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "rail/v1/fabric.grpc.pb.h"

namespace rail::railctl {

namespace health = grpc::health::v1;

ExitCode CheckHealth(const Context& context) {
  const auto stub = health::Health::NewStub(context.client.channel());
  const bool ready = context.flags.ready;
  health::HealthCheckRequest request;
  const bool fabric = !context.flags.fabric.empty();
  if (ready) request.set_service(fabric ? v1::Fabric::service_full_name() : v1::Node::service_full_name());
  RAIL_ASSIGN(const health::HealthCheckResponse response,
              context.client.Ask(*stub, &health::Health::Stub::Check, request));
  if (AsJson(context)) {
    RAIL_TRY(PrintJson(context, response));
  } else {
    context.out << Painter(context.flags.color)(
                       health::HealthCheckResponse::ServingStatus_Name(response.status()))
                << '\n';
  }
  if (response.status() == health::HealthCheckResponse::SERVING) return kDone;
  if (fabric)
    return Fail(
        Code::kTransient,
        context.client.Whom() +
            (ready ? " is not ready: it has not completed its first look at all nodes" : " is stopping"));
  RAIL_ASSIGN(v1::GetNodeResponse node, context.client.Ask(&v1::Node::Stub::GetNode));
  const auto& parts = node.node().health();
  const auto raild = std::ranges::find(parts, "raild", &v1::HealthPart::part);
  const auto waits = std::ranges::find(parts, "readiness", &v1::HealthPart::part);
  return Fail(Code::kTransient,
              "raild at " + context.client.Where() + " " +
                  (raild != parts.end()            ? "hangs: " + raild->problem()
                   : ready && waits != parts.end() ? "is not ready: " + waits->problem()
                   : ready ? "is not ready: it has not completed its first look at the whole node"
                           : "is stopping"));
}

ExitCode ShowVersion(const Context& context) {
  const bool alone = context.flags.client_only;
  const auto ask = [&]() -> Result<v1::GetNodeResponse> {
    if (alone) return v1::GetNodeResponse();
    RAIL_TRY(context.client.Connect());
    return context.client.Ask(&v1::Node::Stub::GetNode);
  };
  const Result<v1::GetNodeResponse> asked = ask();
  if (AsJson(context)) {
    Json json = {{"client", {{"version", RAIL_VERSION}}}};
    if (!alone) {
      json["server"] =
          asked ? Json{{"version", asked->node().version()}, {"hostname", asked->node().hostname()}}
                : Json{{"problem", asked.error().message}};
    }
    context.out << Text(json, Layout::kIndented) << '\n';
    return kDone;
  }
  context.out << "railctl " RAIL_VERSION "\n";
  if (alone) return kDone;
  if (!asked) {
    context.out << "raild is not known: " << OneLine(asked.error().message) << '\n';
    return kDone;
  }
  context.out << "raild " << asked->node().version() << " on " << OneLine(asked->node().hostname()) << '\n';
  if (asked->node().version() != RAIL_VERSION)
    context.out
        << "The two differ: an older raild ignores what a newer railctl asks beyond its own version.\n";
  return kDone;
}

}  // namespace rail::railctl
