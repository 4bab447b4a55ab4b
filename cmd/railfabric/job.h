// The answer of GetJob: asks the nodes of the job what they have learned of the job's own tenants, many at once, for a bounded time.
//
// Use:      return AnswerJob(call, *request, *response, {overview, channel_of});      // a reactor
// Threads:  any; goes on by gRPC's threads
// Owns:     its questions
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "cmd/railfabric/overview.h"
#include "rail/v1/fabric.pb.h"

namespace rail::railfabric {

struct JobSources {
  const Overview& overview;
  // The connection to a node's raild; nullptr: it does not answer.
  std::function<std::shared_ptr<grpc::Channel>(const std::string& node)> channel_of;
  std::atomic<int>& under_way;  // jobs that are asked for now
};

// INVALID_ARGUMENT, NOT_FOUND: as GetJob says. RESOURCE_EXHAUSTED: too many jobs are asked for at once.
grpc::ServerUnaryReactor* AnswerJob(grpc::CallbackServerContext* call, const v1::GetJobRequest& request,
                                    v1::GetJobResponse& response, const JobSources& sources);

}  // namespace rail::railfabric
