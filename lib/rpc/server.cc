#include "lib/rpc/server.h"

#include <grpcpp/resource_quota.h>

namespace rail::rpc {
namespace {

// Requests are tiny, and answers are bounded by their methods: nobody with access needs more.
constexpr int kLargestRequest = 64 << 10;  // bytes
constexpr int kLargestMetadata = 8 << 10;  // bytes, of a call's headers
constexpr int kMostThreads = 8;    // reflection alone; all other methods share gRPC's few callback threads
constexpr int kMostStreams = 128;  // calls at a time of one connection
constexpr int kProbedEvery =
    10000;  // ms: a client that follows a quiet server may ask so often whether it is there
constexpr int kHandshakeTime = 5000;      // ms
constexpr int kAliveEvery = 30000;        // ms without a message, then the peer is probed
constexpr int kAliveTime = 10000;         // ms for the answer
constexpr int kConnectionTime = 3600000;  // ms, then the client connects anew
constexpr int kConnectionGrace = 60000;   // ms for the calls that are under way then

}  // namespace

grpc::StatusCode StatusCodeOf(Code code) {
  switch (code) {
    case Code::kInvalid: return grpc::StatusCode::INVALID_ARGUMENT;
    case Code::kNotFound: return grpc::StatusCode::NOT_FOUND;
    case Code::kExists: return grpc::StatusCode::ALREADY_EXISTS;
    case Code::kBusy:
    case Code::kTransient: return grpc::StatusCode::UNAVAILABLE;
    case Code::kUnsupported:  // UNIMPLEMENTED is gRPC's own, for a call that the server does not know
      return grpc::StatusCode::FAILED_PRECONDITION;
    case Code::kPermission: return grpc::StatusCode::PERMISSION_DENIED;
    case Code::kDamaged: return grpc::StatusCode::DATA_LOSS;
    case Code::kInternal: return grpc::StatusCode::INTERNAL;
  }
  return grpc::StatusCode::INTERNAL;
}

void Limit(grpc::ServerBuilder& builder, const Limits& limits) {
  grpc::ResourceQuota quota(limits.name);
  quota.Resize(limits.most_memory);
  quota.SetMaxThreads(kMostThreads);
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(kLargestRequest);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kLargestMetadata);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreams);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kProbedEvery);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
}

void LimitTcp(grpc::ServerBuilder& builder) {
  // Two daemons on one port would share its clients.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTime);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kAliveEvery);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kAliveTime);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, kConnectionTime);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, kConnectionGrace);
}

Result<std::unique_ptr<grpc::Server>> Start(grpc::ServerBuilder& builder, const std::string& where) {
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server != nullptr) return server;
  return Fail(Code::kInternal,
              "serve gRPC on " + where + ": gRPC does not start (is it taken by another process?)");
}

}  // namespace rail::rpc
