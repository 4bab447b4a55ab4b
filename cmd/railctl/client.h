// Asks raild or railfabric, over a socket or over TCP, with a deadline for each call and a sentence for each failure.
//
// Use:      Client client(flags);  RAIL_TRY(client.Connect());
//           RAIL_TRY(client.Ask(&v1::Node::Stub::ListRails, request, response));
// Threads:  one
// Owns:     the connection
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <type_traits>

#include "cmd/railctl/flags.h"
#include "lib/base/error.h"
#include "lib/rpc/channel.h"
#include "rail/v1/node.grpc.pb.h"

namespace rail::railctl {

class Client {
 public:
  explicit Client(const Flags& flags) : flags_(flags) {}

  // Errors: whatever keeps us from raild, with what to do about it; kInvalid: a file for TLS, a path that is too long.
  Status Connect();

  // Asks `method` of the service Node, or of `stub`. Errors: kNotFound, kInvalid: the question is wrong; kUnsupported: raild does
  // not know the question, or the node cannot answer it; kTransient: raild does not answer, or cannot say.
  template <class Request, class Response>
  Result<Response> Ask(grpc::Status (v1::Node::Stub::*method)(grpc::ClientContext*, const Request&,
                                                              Response*),
                       const std::type_identity_t<Request>& request = {}) {
    return Ask(*node_, method, request);
  }
  template <class Stub, class Request, class Response>
  Result<Response> Ask(Stub& stub,
                       grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                       const Request& request) {
    grpc::ClientContext context;
    rpc::SetPatience(context, kAnswerTime);
    Response response;
    RAIL_TRY(ToStatus((stub.*method)(&context, request, &response)));
    return response;
  }

  Status ToStatus(const grpc::Status& status) const;
  // Why a watch has ended with `status`.
  tl::unexpected<Error> Ended(const grpc::Status& status) const;
  std::string Where() const;
  std::string Whom() const;  // "raild at /run/railcni/raild.sock"
  v1::Node::Stub& node() { return *node_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // All pages, as one answer.
  Result<v1::ListRemotesResponse> ListRemotes();
  Result<uint32_t> CountRemotes(const std::string& rail);  // "": of all rails
  Result<v1::ListFlowsResponse> ListFlows(const v1::AttachmentSelector& selector);

 private:
  std::string Advice(Code code) const;

  static constexpr rpc::Milliseconds kAnswerTime{10'000};

  const Flags& flags_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Node::Stub> node_;
};

}  // namespace rail::railctl
