// The agent that `railctl accept` has in a pod: serves what accept.proto asks of the pod's network namespace.
//
// Use:      RAIL_ASSIGN(const int exit_code, ServeAgent({.listen = "unix:/run/agent.sock"}, std::cout));   // until SIGTERM
//           Agent agent("/sys", echo.port());   builder.RegisterService(&agent);                           // in a test
// Threads:  ServeAgent: the only one of its process. Agent: any; each call but DescribeAgent has a thread of its own, which ends when
//           the caller ends the call.
// Owns:     ServeAgent: the server, the echo, and the socket file that it makes
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>

#include "lib/base/error.h"
#include "rail/v1/accept.grpc.pb.h"

namespace rail::accept {

struct AgentOptions {
  std::string listen;  // "unix:/path" (0600), or "ADDRESS:PORT" with mutual TLS
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  std::string raild = {};  // "unix:/path": raild's answers through the agent, too (relay.h)
  std::string sysfs = "/sys";
};

class Agent final : public v1::AcceptAgent::CallbackService {
 public:
  Agent(std::string sysfs, uint16_t echo_port) : sysfs_(std::move(sysfs)), echo_port_(echo_port) {}

  grpc::ServerUnaryReactor* DescribeAgent(grpc::CallbackServerContext* context,
                                          const v1::DescribeAgentRequest* request,
                                          v1::DescribeAgentResponse* response) override;
  grpc::ServerUnaryReactor* SendFrames(grpc::CallbackServerContext* context,
                                       const v1::SendFramesRequest* request,
                                       v1::SendFramesResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchFramesResponse>* WatchFrames(
      grpc::CallbackServerContext* context, const v1::WatchFramesRequest* request) override;
  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const v1::EchoRequest* request,
                                 v1::EchoResponse* response) override;
  grpc::ServerUnaryReactor* RunPerftest(grpc::CallbackServerContext* context,
                                        const v1::RunPerftestRequest* request,
                                        v1::RunPerftestResponse* response) override;

 private:
  const std::string sysfs_;
  const uint16_t echo_port_;
};

// Serves until SIGTERM or SIGINT, which it blocks in the calling thread, and returns 0. Then it ends the calls that are under way. Writes
// "listening on <where>" to `out` when it serves. Errors: kInvalid the options; kBusy another process serves there; of the echo.
Result<int> ServeAgent(const AgentOptions& options, std::ostream& out);

}  // namespace rail::accept
