// raild's answers through the agent of a pod on its node: what `railctl accept` asks raild, and nothing else of its API.
//
// Use:      RAIL_ASSIGN(const auto relay, Relay::Make("unix:/run/railcni/raild.sock"));   builder.RegisterService(relay.get());
// Threads:  any
// Owns:     the connection to raild
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <utility>

#include "lib/base/error.h"
#include "rail/v1/node.grpc.pb.h"

namespace rail::accept {

class Relay final : public v1::Node::CallbackService {
 public:
  // Errors: kInvalid `raild` is no "unix:PATH". Whether raild is there, each call says.
  static Result<std::unique_ptr<Relay>> Make(const std::string& raild);

  grpc::ServerUnaryReactor* GetNode(grpc::CallbackServerContext* context, const v1::GetNodeRequest* request,
                                    v1::GetNodeResponse* response) override;
  grpc::ServerUnaryReactor* ListRails(grpc::CallbackServerContext* context,
                                      const v1::ListRailsRequest* request,
                                      v1::ListRailsResponse* response) override;
  grpc::ServerUnaryReactor* ListAttachments(grpc::CallbackServerContext* context,
                                            const v1::ListAttachmentsRequest* request,
                                            v1::ListAttachmentsResponse* response) override;
  grpc::ServerUnaryReactor* ListRemotes(grpc::CallbackServerContext* context,
                                        const v1::ListRemotesRequest* request,
                                        v1::ListRemotesResponse* response) override;
  grpc::ServerUnaryReactor* ListCounters(grpc::CallbackServerContext* context,
                                         const v1::ListCountersRequest* request,
                                         v1::ListCountersResponse* response) override;
  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context, const v1::CheckRequest* request,
                                  v1::CheckResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchNodeResponse>* WatchNode(grpc::CallbackServerContext* context,
                                                             const v1::WatchNodeRequest* request) override;
  grpc::ServerUnaryReactor* ListFlows(grpc::CallbackServerContext* context,
                                      const v1::ListFlowsRequest* request,
                                      v1::ListFlowsResponse* response) override;
  grpc::ServerUnaryReactor* Doctor(grpc::CallbackServerContext* context, const v1::DoctorRequest* request,
                                   v1::DoctorResponse* response) override;

 private:
  explicit Relay(std::unique_ptr<v1::Node::Stub> raild) : raild_(std::move(raild)) {}

  const std::unique_ptr<v1::Node::Stub> raild_;
};

}  // namespace rail::accept
