#include "cmd/railctl/accept/relay.h"

#include <functional>

#include "lib/rpc/channel.h"

namespace rail::accept {
namespace {

// Its end, its deadline and the caller's word that nobody waits any more are passed on.
template <class Call>
grpc::ServerUnaryReactor* PassOn(grpc::CallbackServerContext* context, const Call& call) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const std::shared_ptr<grpc::ClientContext> to_raild =
      grpc::ClientContext::FromCallbackServerContext(*context);
  call(to_raild.get(), [reactor, to_raild](const grpc::Status& answer) { reactor->Finish(answer); });
  return reactor;
}

using Done = std::function<void(grpc::Status)>;

}  // namespace

Result<std::unique_ptr<Relay>> Relay::Make(const std::string& raild) {
  if (!raild.starts_with("unix:"))
    return Fail(Code::kInvalid, "--raild " + raild + " is no socket of this node (unix:PATH)");
  RAIL_ASSIGN(const auto channel, rpc::Connect(raild));
  return std::unique_ptr<Relay>(new Relay(v1::Node::NewStub(channel)));
}

grpc::ServerUnaryReactor* Relay::GetNode(grpc::CallbackServerContext* context,
                                         const v1::GetNodeRequest* request, v1::GetNodeResponse* response) {
  return PassOn(context, [&](grpc::ClientContext* to, Done done) {
    raild_->async()->GetNode(to, request, response, std::move(done));
  });
}

grpc::ServerUnaryReactor* Relay::ListRails(grpc::CallbackServerContext* context,
                                           const v1::ListRailsRequest* request,
                                           v1::ListRailsResponse* response) {
  return PassOn(context, [&](grpc::ClientContext* to, Done done) {
    raild_->async()->ListRails(to, request, response, std::move(done));
  });
}

grpc::ServerUnaryReactor* Relay::ListAttachments(grpc::CallbackServerContext* context,
                                                 const v1::ListAttachmentsRequest* request,
                                                 v1::ListAttachmentsResponse* response) {
  return PassOn(context, [&](grpc::ClientContext* to, Done done) {
    raild_->async()->ListAttachments(to, request, response, std::move(done));
  });
}

grpc::ServerUnaryReactor* Relay::ListRemotes(grpc::CallbackServerContext* context,
                                             const v1::ListRemotesRequest* request,
                                             v1::ListRemotesResponse* response) {
  return PassOn(context, [&](grpc::ClientContext* to, Done done) {
    raild_->async()->ListRemotes(to, request, response, std::move(done));
  });
}

grpc::ServerUnaryReactor* Relay::ListCounters(grpc::CallbackServerContext* context,
                                              const v1::ListCountersRequest* request,
                                              v1::ListCountersResponse* response) {
  return PassOn(context, [&](grpc::ClientContext* to, Done done) {
    raild_->async()->ListCounters(to, request, response, std::move(done));
  });
}

grpc::ServerUnaryReactor* Relay::ListFlows(grpc::CallbackServerContext* context,
                                           const v1::ListFlowsRequest* request,
                                           v1::ListFlowsResponse* response) {
  return PassOn(context, [&](grpc::ClientContext* to, Done done) {
    raild_->async()->ListFlows(to, request, response, std::move(done));
  });
}

grpc::ServerUnaryReactor* Relay::Doctor(grpc::CallbackServerContext* context,
                                        const v1::DoctorRequest* request, v1::DoctorResponse* response) {
  return PassOn(context, [&](grpc::ClientContext* to, Done done) {
    raild_->async()->Doctor(to, request, response, std::move(done));
  });
}

}  // namespace rail::accept
