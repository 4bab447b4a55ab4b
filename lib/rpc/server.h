// What each gRPC server of ours has: limits, so that no client can make the program large, and errors as gRPC's.
//
// Use:      grpc::ServerBuilder builder;   Limit(builder, {.name = "raild-tcp"});   LimitTcp(builder);
//           RAIL_ASSIGN(const auto server, Start(builder, "10.0.0.5:9443"));
// Threads:  any thread
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <memory>
#include <string>

#include "lib/base/error.h"

namespace rail::rpc {

struct Limits {
  const char* name;                       // of the quota, for gRPC
  size_t most_memory = size_t{64} << 20;  // bytes, gRPC's buffers in all
};

grpc::StatusCode StatusCodeOf(Code code);
inline grpc::Status ToGrpc(const Error& error) {
  return {StatusCodeOf(error.code), error.message};
}

// Of any way in.
void Limit(grpc::ServerBuilder& builder, const Limits& limits);
// Of TCP besides: a peer that is gone, silent or slow to identify itself loses its place, and who was let in shows its certificate again from
// time to time.
void LimitTcp(grpc::ServerBuilder& builder);

// `where`: for the sentence. Errors: kInternal gRPC does not start (is the address taken?).
Result<std::unique_ptr<grpc::Server>> Start(grpc::ServerBuilder& builder, const std::string& where);

}  // namespace rail::rpc
