// Serves rail.v1.Fabric from the overview, with the standard health and reflection services, on a unix socket and over TCP with mutual TLS.
//
// Use:      RAIL_ASSIGN(auto server, Server::Start(settings, overview, channel_of));
//           server->SetReady();
//           server->Stop();
// Threads:  any thread; the server's own threads end in Stop
// Owns:     the sockets and the name; the sources must outlive it
// Source:   lib/api/rail/v1/fabric.proto; README.md of this folder (limits, rights)
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cmd/railfabric/overview.h"
#include "cmd/railfabric/settings.h"
#include "lib/base/error.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace rail::railfabric {

class Server {
 public:
  using ChannelOf = std::function<std::shared_ptr<grpc::Channel>(const std::string& node)>;

  // Serves when it returns. Errors: kBusy another process answers on the socket; kExists something else has that name; kInvalid the path, or
  // the files for TLS; kPermission; kInternal gRPC does not start (is the port taken?).
  static Result<std::unique_ptr<Server>> Start(const Settings& settings, const Overview& overview,
                                               ChannelOf channel_of);
  // From now on the health service says SERVING for "rail.v1.Fabric", too.
  void SetReady();
  // Ends watches with UNAVAILABLE, waits at most 2 s for running calls, removes the socket. Safe to repeat.
  void Stop();
  ~Server();

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace rail::railfabric
