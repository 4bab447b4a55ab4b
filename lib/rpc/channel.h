// Connections to gRPC servers of ours, over sockets or over TCP with mutual TLS, and questions with a time and a sentence for each failure.
//
// Use:      RAIL_ASSIGN(const auto channel, Connect("unix:/run/railcni/raild.sock"));
//           auto stub = v1::Node::NewStub(channel);
//           RAIL_ASSIGN(const auto rails, Ask(*stub, &v1::Node::Stub::ListRails, {}, "raild of n1", kShort));
// Threads:  any thread
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include "lib/base/error.h"
#include "lib/rpc/tls.h"

namespace rail::rpc {

using Milliseconds = std::chrono::milliseconds;
constexpr Milliseconds kShort{20'000};  // for an answer that costs nothing

struct Way {
  std::shared_ptr<grpc::ChannelCredentials> tls = nullptr;  // null: only a socket can be asked
  std::string name = {};      // that the server's certificate has; empty: the address's
  Milliseconds connect = {};  // how long a connection may take; 0: gRPC's own 20 s
  bool anew = false;          // never over a connection that another channel has
  Milliseconds probe = {};    // a connection with a call that was silent for so long is probed; 0: never
  Milliseconds answer = {};   // ... and is lost without an answer to the probe for so long
};

// `target`: "unix:/path", or "HOST:PORT", which needs TLS. Nothing is sent yet. Errors: kInvalid: TCP without it.
Result<std::shared_ptr<grpc::Channel>> Connect(const std::string& target, const Way& way = {});
// With TLS as it is now; none: only a socket can be asked.
Result<std::shared_ptr<grpc::Channel>> Connect(const std::string& target, const Tls& tls);

// An answer as ours. `whom`: "the agent of pod ml/train-0". Errors: kInvalid, kUnsupported: the question cannot be answered there; kTransient: no
// answer.
Status ToStatus(const grpc::Status& answer, const std::string& whom);

// Calls `ask` with each number below `count`, many at once. Errors: the first of `ask`, when those under way have ended.
Status AskAll(size_t count, const std::function<Status(size_t)>& ask);

// `patience`: how long the answer may take.
void SetPatience(grpc::ClientContext& context, Milliseconds patience);

template <class Stub, class Request, class Response>
Result<Response> Ask(Stub& stub,
                     grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                     const std::type_identity_t<Request>& request, const std::string& whom,
                     Milliseconds patience = kShort) {
  grpc::ClientContext context;
  SetPatience(context, patience);
  Response response;
  RAIL_TRY(ToStatus((stub.*method)(&context, request, &response), whom));
  return response;
}

}  // namespace rail::rpc
