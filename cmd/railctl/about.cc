#include <algorithm>
#include <nlohmann/json.hpp>

#include "cmd/railctl/commands.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace rail::railctl {

namespace health = grpc::health::v1;

ExitCode CheckHealth(const Context& context) {
  const auto stub = health::Health::NewStub(context.client.channel());
  const bool ready = context.flags.ready;
  health::HealthCheckRequest request;
  if (ready) request.set_service(v1::Node::service_full_name());
  health::HealthCheckResponse response;
  RAIL_TRY(context.client.Ask(*stub, &health::Health::Stub::Check, request, response));
  if (context.flags.format == Format::kJson) {
    RAIL_TRY(PrintJson(context, response));
  } else {
    context.out << Painter(context.flags.color)(
                       health::HealthCheckResponse::ServingStatus_Name(response.status()))
                << '\n';
  }
  if (response.status() == health::HealthCheckResponse::SERVING) return kDone;
  v1::GetNodeResponse node;
  RAIL_TRY(context.client.Ask(&v1::Node::Stub::GetNode, v1::GetNodeRequest(), node));
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
  v1::GetNodeResponse response;
  Status asked = context.flags.client_only ? Status() : context.client.Connect();
  if (asked && !context.flags.client_only)
    asked = context.client.Ask(&v1::Node::Stub::GetNode, v1::GetNodeRequest(), response);
  if (context.flags.format == Format::kJson) {
    Json json = {{"client", {{"version", RAIL_VERSION}}}};
    if (!context.flags.client_only) {
      json["server"] =
          asked ? Json{{"version", response.node().version()}, {"hostname", response.node().hostname()}}
                : Json{{"problem", asked.error().message}};
    }
    context.out << Text(json, Layout::kIndented) << '\n';
    return kDone;
  }
  context.out << "railctl " RAIL_VERSION "\n";
  if (context.flags.client_only) return kDone;
  if (!asked) {
    context.out << "raild is not known: " << OneLine(asked.error().message) << '\n';
    return kDone;
  }
  context.out << "raild " << response.node().version() << " on " << OneLine(response.node().hostname())
              << '\n';
  if (response.node().version() != RAIL_VERSION)
    context.out
        << "The two differ: an older raild ignores what a newer railctl asks beyond its own version.\n";
  return kDone;
}

}  // namespace rail::railctl
